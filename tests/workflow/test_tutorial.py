"""The tutorial: every block of its first part, run as a reader does; its second part,
Python alone, is in tests/test_api.py.
"""

import doctest
import os
import re
import shutil
import subprocess

from tests.workflow.conftest import BIN, ROOT, copy_workflow

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8").partition("\n## The same from Python")[0]
# a command with what it prints, or a Python file, whose first line is its name
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def fits(wanted: str, printed: str) -> bool:
    """Whether a text is the one shown, with anything in the place of `...`."""
    return doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS)


def test_every_block_of_the_tutorial_gives_what_it_shows(tmp_path):
    clone = copy_workflow(tmp_path / "clone").folder
    shutil.copytree(ROOT / "docs" / "example", clone / "docs" / "example")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}
    blocks = BLOCK.findall(PAGE)
    assert "git clone" in blocks[0][1]  # the test has its clone and environment
    for kind, code, wanted in blocks[1:]:
        if kind == "python":
            name = re.match(r"# (\w+\.py)\n", code)[1]
            (clone / name).write_text(code, "utf-8")
            continue
        run = subprocess.run(
            ["bash", "-ec", code],
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout
        assert not wanted or fits(wanted, run.stdout), run.stdout
    assert (clone / "my-text/results/report/index.html").exists()
    assert (clone / "my-text/model/model.safetensors").exists()
