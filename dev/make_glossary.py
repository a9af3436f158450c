"""Write the glossary of docs/concepts.md from that of the report:
python dev/make_glossary.py
"""

from pathlib import Path

from vocap.report.page.rendering import terms
from vocap.report.page.tables import for_markdown

PAGE = Path(__file__).parents[1] / "docs" / "concepts.md"
HEADING = "## Glossary\n"


def render() -> str:
    """The section, with its heading."""
    rows = []
    for one in terms().values():
        word = for_markdown(one.term)
        linked = f"[{word}](#{one.concept})" if one.concept else word
        rows.append(f"| {linked} | {for_markdown(one.text)} |\n")
    head = "\nThe report explains these words where they stand.\n\n| word | meaning |\n|---|---|\n"
    return HEADING + head + "".join(rows)


def main() -> None:
    text = PAGE.read_text("utf-8").partition(HEADING)[0].rstrip()
    PAGE.write_text(f"{text}\n\n{render()}", "utf-8")


if __name__ == "__main__":
    main()
