"""Write the glossary of docs/evaluation.md from that of the report:
python dev/make_glossary.py
"""

from pathlib import Path

from vocap.report.page.glossary import terms
from vocap.report.page.tables import for_markdown

PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"
HEADING = "## Glossary\n"


def render() -> str:
    """The section, with its heading."""
    rows = [
        f"| {for_markdown(one.term)} | {for_markdown(one.text)} |\n" for one in terms().values()
    ]
    head = (
        "\nThe words of the report, which explains them there.\n\n| word | meaning |\n|---|---|\n"
    )
    return HEADING + head + "".join(rows)


def main() -> None:
    text = PAGE.read_text("utf-8").partition(HEADING)[0].rstrip()
    PAGE.write_text(f"{text}\n\n{render()}", "utf-8")


if __name__ == "__main__":
    main()
