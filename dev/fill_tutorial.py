"""Write the values that the Python part of docs/tutorial.md shows: run
PYTHONPATH=. python dev/fill_tutorial.py
"""

import os
import re
import shutil
import tempfile

from tests.test_api import BLOCK, EXAMPLE, ROOT, run_block, shown

TUTORIAL = ROOT / "docs" / "tutorial.md"
HEADING = "## The same from Python"


def main() -> None:
    first, _, second = TUTORIAL.read_text("utf-8").partition(HEADING)
    names: dict[str, object] = {}

    def filled(match: re.Match[str]) -> str:
        value = run_block(match[1], names)
        output = f"\n```text\n{shown(value)}```\n" if match[2] is not None else ""
        return f"```python\n{match[1]}```\n{output}"

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copytree(EXAMPLE, "my-text")
        TUTORIAL.write_text(f"{first}{HEADING}{BLOCK.sub(filled, second)}", "utf-8")


if __name__ == "__main__":
    main()
