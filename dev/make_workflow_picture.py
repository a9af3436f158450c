"""Draw docs/pictures/workflow.svg from the workflow itself: python
dev/make_workflow_picture.py

Rules and dependencies are those of `snakemake -n --rulegraph` for config/smoke.yaml,
which asks for every stage. A test compares the picture with the workflow.
"""

import re
import subprocess
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "workflow.svg"
STAGES = {
    "corpora": "#3b75af",
    "vocabularies": "#2f8f83",
    "allocation": "#5b8c2a",
    "tokenizers": "#a97a0b",
    "pretraining": "#c0603a",
    "finetuning": "#b04a74",
    "correlation": "#8a5bb0",
    "report": "#5f6b7a",
}
# Rules drawn as one box; captions of the boxes.
TOGETHER = {
    "starter": ("fetch_starter", "extract_starter", "merge_starter"),
    "sample": ("sample", "sample_starter"),
    "count": ("count", "count_starter"),
    "ladder": ("compile", "ladder", "ladder_starter"),
    "tokenize": ("tokenize", "tokenize_starter"),
    "joint": ("joint_descent", "pick_joint"),
    "pieces": ("trunk", "allocate_pieces"),
    "study": ("studied_sizes", "studied_tokenizer", "studied_text", "studied_model", "own_files"),
}
CAPTIONS = {
    "starter": "text for a first run",
    "sample": "training, held-out",
    "count": "distinct text, once",
    "weigh": "n of each language",
    "mix": "of all languages",
    "ladder": "models, ALP by size",
    "allocate": "sizes by language",
    "pieces": "one descent for all",
    "fit": "scores of the pieces",
    "joint": "JOINT, the baseline",
    "mono": "one language's model",
    "export": "Hugging Face, card",
    "evaluate": "ALP, tokens, <unk>",
    "tokenize": "text to blocks of ids",
    "pretrain": "a language model",
    "code_length": "bits per byte of lines",
    "encode": "examples to ids",
    "finetune": "one run a setting",
    "score": "F1, accuracy, EM",
    "average": "Avg of Table 1",
    "study": "a model for each size",
    "correlate": "ALP and F1",
    "report": "one page, offline",
}
LEFT, TOP, COLUMN, ROW, BOX = 212, 14, 160, 54, (130, 42)
GAP = 16  # between bands
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2933 }
.name { font-weight: 600 }
.caption { font-size: 10.5px; fill: #52606d }
.stage { font-weight: 600; font-size: 14px }
.box { fill: #ffffff; stroke-width: 1.4 }
.band { fill-opacity: 0.09 }
.arrow { fill: none; stroke: #7b8794; stroke-width: 1.3 }
.head { fill: #7b8794 }
.arc { fill: none; stroke-width: 1.6; stroke-opacity: 0.8 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .caption { fill: #a9b4c0 }
  .box { fill: #161b22 }
  .band { fill-opacity: 0.22 }
  .arrow { stroke: #98a4b1 }
  .head { fill: #98a4b1 }
}"""
TITLE = (
    "The stages of the workflow from top to bottom, the rules of each from left to right, "
    "and the stages that read outputs of others"
)


def rule_graph() -> set[tuple[str, str]]:
    """Pairs of rules, the second waits for the first; without the targets of stages."""
    command = ["snakemake", "-n", "--configfile", "config/smoke.yaml", "--rulegraph"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', text))
    pairs = {(names[first], names[second]) for first, second in re.findall(r"(\d+) -> (\d+)", text)}
    return {(first, second) for first, second in pairs if second != "all"}


def stages_of_rules() -> dict[str, str]:
    """The stage of every box: that of the file in rules/ with its rule; the rules of the
    correlation study follow its target in the file of fine-tuning.
    """
    stages = {}
    for path in (ROOT / "rules").glob("*.smk"):
        stage = path.stem
        for used, named, name in re.findall(
            r'^ *(?:use rule \w+ as (\w+) with:|(?:rule|checkpoint) (\w+):|f"(\w+)\{batch)',
            path.read_text("utf-8"),
            re.MULTILINE,
        ):
            rule = used or named or name
            stage = "correlation" if rule == "correlation" else stage
            stages[rule] = stage
    boxes = {rule: box for box, rules in TOGETHER.items() for rule in rules}
    return {boxes.get(rule, rule): stage for rule, stage in stages.items()}


def reduced(pairs: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of boxes without those that follow from others (the transitive reduction),
    sorted.
    """
    boxes = {rule: box for box, rules in TOGETHER.items() for rule in rules}
    pairs = {(boxes.get(first, first), boxes.get(second, second)) for first, second in pairs}
    pairs = {(first, second) for first, second in pairs if first != second}
    after = {first: {second for start, second in pairs if start == first} for first, _ in pairs}

    def reached(box: str) -> set[str]:
        return set().union(*({second} | reached(second) for second in after.get(box, ())))

    return sorted(
        (first, second)
        for first, second in pairs
        if not any(second in reached(other) for other in after[first] - {second})
    )


def places(boxes: list[str], pairs: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Column and row of a stage's boxes: right of all that they wait for, rows in order
    of appearance.
    """
    column = dict.fromkeys(boxes, 0)
    for _ in boxes:
        for first, second in pairs:
            if first in column and second in column:
                column[second] = max(column[second], column[first] + 1)
    filled: dict[int, int] = {}
    spots = {}
    for box in boxes:
        row = filled.get(column[box], 0)
        filled[column[box]] = row + 1
        spots[box] = (column[box], row)
    return spots


def draw(pairs: list[tuple[str, str]], stages: dict[str, str]) -> str:
    """The picture as SVG."""
    parts, tops, spots, y = [], {}, {}, TOP
    used = {box for pair in pairs for box in pair}
    for stage, colour in STAGES.items():
        boxes = [box for box in CAPTIONS if box in used and stages[box] == stage]
        grid = places(boxes, pairs)
        height = ROW * (1 + max(row for _, row in grid.values())) + 6
        width = LEFT + 5 * COLUMN
        parts.append(
            f'<rect class="band" x="84" y="{y}" width="{width - 90}" height="{height}" rx="8" '
            f'fill="{colour}"/>'
        )
        parts.append(f'<text class="stage" x="100" y="{y + 35}">{stage}</text>')
        tops[stage] = y + 30
        for box, (column, row) in grid.items():
            spots[box] = (LEFT + column * COLUMN, y + 10 + row * ROW)
        y += height + GAP
    for first, second in pairs:
        if stages[first] == stages[second]:
            (x1, y1), (x2, y2) = spots[first], spots[second]
            x1, y1, y2 = x1 + BOX[0], y1 + BOX[1] // 2, y2 + BOX[1] // 2
            middle = (x1 + x2) // 2
            path = f"M{x1} {y1} C{middle + 6} {y1} {middle - 6} {y2} {x2 - 5} {y2}"
            parts.append(
                f'<path class="arrow" d="{path}"/><path class="head" d="M{x2} {y2}l-7 -4v8z"/>'
            )
    parts += arcs(
        sorted({(stages[a], stages[b]) for a, b in pairs if stages[a] != stages[b]}), tops
    )
    for box, (x, y1) in spots.items():
        size, colour = f'width="{BOX[0]}" height="{BOX[1]}"', STAGES[stages[box]]
        parts.append(
            f"<g><title>{', '.join(TOGETHER.get(box, (box,)))}</title>"
            f'<rect class="box" x="{x}" y="{y1}" {size} rx="6" stroke="{colour}"/>'
            f'<text class="name" x="{x + 9}" y="{y1 + 17}">{box}</text>'
            f'<text class="caption" x="{x + 9}" y="{y1 + 33}">{escape(CAPTIONS[box])}</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + 5 * COLUMN} {y}" role="img" '
        f'aria-labelledby="title"><title id="title">{TITLE}</title>'
        f"<style>{STYLE}\n</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def arcs(links: list[tuple[str, str]], tops: dict[str, int]) -> list[str]:
    """Lines at the left between stages; the further, the wider. Lines into one stage
    end below one another.
    """
    order = list(STAGES)
    links = sorted(
        links, key=lambda link: (order.index(link[1]) - order.index(link[0]), order.index(link[0]))
    )
    lines, arrived = [], dict.fromkeys(order, 0)
    for first, second in links:
        span = order.index(second) - order.index(first)
        begin, end = tops[first] + 9, tops[second] - 14 + 7 * arrived[second]
        arrived[second] += 1
        x = 84 - 13 * span - 4 * order.index(first) % 8
        path = f"M84 {begin} C{x} {begin} {x} {end} 78 {end}"
        lines.append(
            f'<path class="arc" stroke="{STAGES[first]}" d="{path}"><title>{first} to '
            f"{second}</title></path>"
            f'<path fill="{STAGES[first]}" d="M84 {end}l-7 -3.5v7z"/>'
        )
    return lines


def render() -> str:
    """The picture of the workflow in this folder."""
    return draw(reduced(rule_graph()), stages_of_rules())


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(render(), "utf-8")
