"""Draw the pictures of docs/tutorial.md and docs/concepts.md from the tutorial's run:

    python dev/make_book_pictures.py my-text docs/pictures

`my-text` is the tutorial's folder after its last step.
"""

import argparse
import json
import math
import shutil
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import vl_convert

import vocap

NAMES = {"en": "English", "ja": "Japanese", "uk": "Ukrainian"}
COLOURS = {"English": "#1f5fa8", "Japanese": "#c4510a", "Ukrainian": "#00805e"}
INK, MUTED = "#1b1f24", "#5b6470"
SENTENCE = 19  # line of the parallel text: a menu's "Select the serial port ..."
TABLE = dict[str, Any]


def chart(marks: list[TABLE], rows: pd.DataFrame, width: int = 560, height: int = 220) -> str:
    """Layers of a Vega-Lite chart as SVG."""
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": width,
        "height": height,
        "background": "white",
        "padding": 8,
        "data": {"values": rows.to_dict("records")},
        "layer": marks,
        "config": {
            "font": "Liberation Sans, Arial, sans-serif",
            "axis": {"labelColor": MUTED, "titleColor": INK, "titleFontWeight": "normal"},
            "legend": {"labelColor": INK, "title": None, "orient": "top"},
            "view": {"stroke": None},
        },
    }
    return vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="5.20")


def of_language(title: str | None = None) -> TABLE:
    """The colour of a language, the same in every picture."""
    scale = {"domain": list(COLOURS), "range": list(COLOURS.values())}
    return {"field": "language", "type": "nominal", "scale": scale, "title": title}


def axis(field: str, title: str, kind: str = "quantitative", **more: Any) -> TABLE:
    return {"field": field, "type": kind, "title": title, **more}


def bars(rows: pd.DataFrame, value: str, title: str, label: str, **more: Any) -> str:
    """A horizontal bar for each language, with its value."""
    y = axis("language", "", "nominal", sort=None)
    marks = [
        {
            "mark": "bar",
            "encoding": {
                "y": y,
                "x": axis(value, title, **more),
                "color": {**of_language(), "legend": None},
            },
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 5, "color": INK},
            "encoding": {"y": y, "x": axis(value, title, **more), "text": {"field": label}},
        },
    ]
    return chart(marks, rows, height=110)


def grouped(rows: pd.DataFrame, group: str, value: str, title: str, label: str = "label") -> str:
    """Bars of the languages side by side, a group for each setting."""
    base = {
        "x": axis(group, "", "nominal", sort=None, axis={"labelAngle": 0, "labelFontSize": 12}),
        "xOffset": axis("language", "", "nominal", sort=list(COLOURS)),
        "y": axis(value, title),
    }
    marks = [
        {"mark": "bar", "encoding": {**base, "color": of_language()}},
        {
            "mark": {"type": "text", "dy": -6, "color": INK, "fontSize": 10},
            "encoding": {**base, "text": {"field": label}},
        },
    ]
    return chart(marks, rows, height=200)


def svg(width: int, height: int, parts: list[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img"><title>{escape(title)}</title>'
        "<style>text{font:14px 'Liberation Sans',Arial,sans-serif;fill:#1b1f24}"
        ".small{font-size:12px;fill:#5b6470}.bold{font-weight:600}</style>"
        f'<rect width="{width}" height="{height}" fill="white"/>'
    )
    return head + "".join(parts) + "</svg>\n"


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"'
    return f'<text {place} class="{kind}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, colour: str, opacity: float = 0.12) -> str:
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" '
        f'fill="{colour}" fill-opacity="{opacity}" stroke="{colour}"/>'
    )


def text_width(words: str) -> float:
    """About how wide a text of 14 px is: full-width characters take twice as much."""
    return sum(14 if ord(letter) > 0x2E80 else 8.2 for letter in words)


def tokens_row(tokens: list[str], x: float, y: float, colour: str, below: list[str]) -> list[str]:
    """The tokens of a line as boxes, with a small text below each."""
    parts = []
    for token, note in zip(tokens, below, strict=True):
        width = max(text_width(token), 6.5 * len(note)) + 12
        parts += [box(x, y, width, 28, colour), text(x + width / 2, y + 19, token, "", "middle")]
        parts.append(text(x + width / 2, y + 44, note, "small", "middle"))
        x += width + 5
    return parts


def steps() -> str:
    """What a run does, from text to report."""
    named = [
        ("text", "a file a language"),
        ("ladders", "all sizes of each"),
        ("allocation", "who gets how many"),
        ("tokenizers", "T ids each"),
        ("report", "one page"),
    ]
    parts = []
    for place, (name, caption) in enumerate(named):
        x = 10 + place * 146
        parts += [box(x, 12, 122, 50, "#1f5fa8"), text(x + 61, 34, name, "bold", "middle")]
        parts.append(text(x + 61, 52, caption, "small", "middle"))
        if place:
            parts.append(f'<path d="M{x - 21} 37h13l-5 -5m5 5l-5 5" fill="none" stroke="{MUTED}"/>')
    return svg(730, 74, parts, "Text, ladders, allocation, tokenizers, report: one after the other")


def segmentations(folder: Path) -> str:
    """One sentence in three languages, by the tokenizer that the tutorial trains."""
    tokenizer = vocap.load_tokenizer(folder / "results/tokenizers/pieces-4k/huggingface")
    parts = []
    for place, (code, name) in enumerate(NAMES.items()):
        line = (folder / f"parallel/{code}.txt").read_text("utf-8").splitlines()[SENTENCE]
        found = tokenizer.encode(line, add_special_tokens=False)
        y = 8 + place * 80
        parts.append(text(8, y + 14, f"{name}, {len(found.ids)} tokens"))
        ids = [str(number) for number in found.ids]
        parts += tokens_row(found.tokens, 8, y + 22, COLOURS[name], ids)
    return svg(640, 248, parts, "One sentence in three languages, cut into tokens")


def alp(folder: Path) -> str:
    """The log probability of a line is the sum of those of its tokens."""
    tokenizer = vocap.load_tokenizer(folder / "results/tokenizers/pieces-4k/huggingface")
    lines = (folder / "results/corpora/en/heldout.txt").read_text("utf-8").splitlines()
    counts = pd.Series(
        [
            token
            for found in tokenizer.encode_batch(lines, add_special_tokens=False)
            for token in found.tokens
        ]
    ).value_counts(normalize=True)
    line = (folder / "parallel/en.txt").read_text("utf-8").splitlines()[SENTENCE]
    tokens = tokenizer.encode(line, add_special_tokens=False).tokens
    values = [math.log(counts.get(token, counts.min())) for token in tokens]
    parts = [text(8, 20, "Each token has a probability; its logarithm stands below it:", "small")]
    parts += tokens_row(tokens, 8, 32, "#1f5fa8", [f"{value:.1f}" for value in values])
    said = f"The line: {sum(values):.1f} nats. ALP is the mean of this sum over all lines."
    parts.append(text(8, 104, said))
    return svg(640, 116, parts, "The tokens of a line with their log probabilities, and their sum")


def pieces_picture() -> str:
    """How PIECES prunes; the lengths of the bars are made up."""
    rows = [
        ("▁device", (110, 6, 4)),
        ("IP", (40, 42, 48)),
        ("を選択", (0, 78, 0)),
        ("ання", (0, 0, 74)),
        ("▁configurati", (26, 0, 0)),
        ("のコン", (0, 16, 0)),
    ]
    parts = [
        text(8, 20, "What each piece is worth to all languages together (made-up lengths)", "small")
    ]
    for place, (piece, worths) in enumerate(rows):
        x, y = 140, 34 + place * 28
        gone = place >= 4
        parts.append(text(128, y + 15, piece, "small" if gone else "", "end"))
        for (_, colour), worth in zip(COLOURS.items(), worths, strict=True):
            if worth:
                parts.append(box(x, y, worth, 18, colour, 0.25 if gone else 0.75))
                x += worth + 2
        parts.append(text(x + 8, y + 14, "pruned" if gone else "kept", "small"))
    for place, (name, colour) in enumerate(COLOURS.items()):
        parts += [box(400, 40 + place * 24, 14, 14, colour, 0.75), text(422, 52 + place * 24, name)]
    return svg(
        540, 212, parts, "Six pieces with their worth to three languages; the two least are pruned"
    )


def ladder(folder: Path) -> str:
    """Rungs of a descent that shrink by a quarter, and the sizes that leave it."""
    curve = pd.read_csv(folder / "results/vocabularies/en/curve.tsv", sep="\t")
    sizes = [int(size) for size in curve["size"][curve["status"] == "ok"]]
    parts = [text(8, 20, "pieces on a rung of the ladder (schematic)", "small")]
    parts.append(text(520, 20, "vocabularies that leave it", "small"))
    count, y = 6000.0, 32
    while count >= 700:
        below = 0.75 * count
        leave = [str(size) for size in sizes if below < 1.1 * size <= count]
        parts.append(box(8, y, count / 13, 20, "#1f5fa8", 0.6))
        parts.append(text(16 + count / 13, y + 15, f"{count:,.0f}"))
        if leave:
            parts.append(text(520, y + 15, ", ".join(leave)))
        count, y = below, y + 27
    return svg(
        740, y + 4, parts, "Bars that shrink by a quarter, with the vocabulary sizes of each"
    )


def curves(folder: Path) -> pd.DataFrame:
    """Curves of the three languages, with the size that the allocation chose."""
    chosen = pd.read_csv(folder / "results/allocation/vocap-4k/allocation.tsv", sep="\t")
    found = []
    for code, name in NAMES.items():
        curve = pd.read_csv(folder / f"results/vocabularies/{code}/curve.tsv", sep="\t")
        curve = curve[curve["status"] == "ok"]
        size = chosen.set_index("language")["size"][code]
        found.append(
            pd.DataFrame(
                {
                    "language": name,
                    "size": curve["size"],
                    "alp": curve["alp"],
                    "chosen": curve["size"] == size,
                }
            )
        )
    return pd.concat(found)


def allocation(folder: Path) -> str:
    base = {
        "x": axis("size", "size of the language's own vocabulary"),
        "y": axis("alp", "ALP (nats a line)", scale={"zero": False}),
        "color": of_language(),
    }
    dots = {"type": "point", "shape": "diamond", "filled": True, "size": 160, "opacity": 1}
    marks = [
        {"mark": "line", "encoding": base},
        {"transform": [{"filter": "datum.chosen"}], "mark": dots, "encoding": base},
    ]
    return chart(marks, curves(folder))


def tokens_by_total(folder: Path) -> str:
    """Tokens a line of JOINT at several T; each language in its colour."""
    sizes = pd.read_csv(folder / "results/tokenizers/joint-4k/sizes.tsv", sep="\t")
    sizes = sizes.assign(
        tokens=sizes["tokens"] / sizes["lines"], language=sizes["language"].map(NAMES)
    )
    mark = {"type": "line", "point": True}
    encoding = {
        "x": axis("total", "T"),
        "y": axis("tokens", "tokens a line"),
        "color": of_language(),
    }
    return chart([{"mark": mark, "encoding": encoding}], sizes)


def shares(folder: Path) -> str:
    lines = pd.read_csv(folder / "results/corpora/weights.tsv", sep="\t").set_index("language")["n"]
    rows = []
    for alpha, name in ((1, "alpha 1: by lines"), (0.7, "alpha 0.7"), (0, "alpha 0: all alike")):
        share = lines**alpha / (lines**alpha).sum()
        rows += [
            {
                "group": name,
                "language": NAMES[code],
                "q": 100 * share[code],
                "label": f"{100 * share[code]:.0f} %",
            }
            for code in NAMES
        ]
    return grouped(pd.DataFrame(rows), "group", "q", "share q, percent")


def sizes_by_beta(folder: Path) -> str:
    rows = []
    for beta in (0.0, 0.7, 2.0):
        result = vocap.allocate(
            folder / "results/vocabularies", folder / "results/corpora/weights.tsv", 4000, beta=beta
        )
        size = result.languages.set_index("language")["size"]
        rows += [
            {
                "group": f"beta {beta:g}",
                "language": NAMES[code],
                "size": int(size[code]),
                "label": f"{size[code]:,}",
            }
            for code in NAMES
        ]
    return grouped(pd.DataFrame(rows), "group", "size", "size of the vocabulary")


def costs(folder: Path) -> tuple[str, str]:
    """Bits per byte of held-out text, and tokens of the same sentences, by tokenizer."""
    bits, ratios = [], []
    for name in ("vocap-4k", "joint-4k", "pieces-4k"):
        table = pd.read_csv(folder / f"results/tokenizers/{name}/evaluation.tsv", sep="\t")
        for row in table.to_dict("records"):
            value = row["bigram_bits_per_byte"]
            bits.append(
                {
                    "group": name,
                    "language": NAMES[row["language"]],
                    "bits": value,
                    "label": f"{value:.2f}",
                }
            )
        table = pd.read_csv(folder / f"results/tokenizers/{name}/parallel.tsv", sep="\t")
        ratio = table["ratio_with_bytes"]
        gini = sum(abs(a - b) for a in ratio for b in ratio) / (2 * len(ratio) ** 2 * ratio.mean())
        for row in table.to_dict("records"):
            value = row["ratio_with_bytes"]
            ratios.append(
                {
                    "group": f"{name}: Gini {gini:.3f}",
                    "language": NAMES[row["language"]],
                    "ratio": value,
                    "label": f"{value:.2f}",
                }
            )
    return (
        grouped(pd.DataFrame(bits), "group", "bits", "bits per byte of held-out text"),
        grouped(pd.DataFrame(ratios), "group", "ratio", "tokens, times English"),
    )


def amounts(folder: Path) -> str:
    rows = []
    for code, name in NAMES.items():
        lines = (folder / f"{code}.txt").read_text("utf-8").splitlines()
        rows.append({"language": name, "lines": len(lines), "label": f"{len(lines):,} lines"})
    return bars(pd.DataFrame(rows), "lines", "lines of text", "label", scale={"domain": [0, 4600]})


def training(folder: Path) -> str:
    losses = [float(line) for line in (folder / "losses.txt").read_text().split()]
    rows = pd.DataFrame({"step": range(1, len(losses) + 1), "loss": losses})
    rows["mean"] = rows["loss"].rolling(15, min_periods=1).mean()
    encoding = {
        "x": axis("step", "step"),
        "y": axis("mean", "loss (nats a hidden token)", scale={"zero": False}),
    }
    return chart([{"mark": {"type": "line", "color": "#1f5fa8"}, "encoding": encoding}], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("pictures", type=Path)
    options = parser.parse_args()
    bits, gini = costs(options.folder)
    pictures = {
        "tutorial-text": amounts(options.folder),
        "tutorial-steps": steps(),
        "tutorial-loss": training(options.folder),
        "concept-token": segmentations(options.folder),
        "concept-t": tokens_by_total(options.folder),
        "concept-alp": alp(options.folder),
        "concept-alpha": shares(options.folder),
        "concept-beta": sizes_by_beta(options.folder),
        "concept-ladder": ladder(options.folder),
        "concept-allocation": allocation(options.folder),
        "concept-pieces": pieces_picture(),
        "concept-bits": bits,
        "concept-gini": gini,
    }
    for name, drawn in pictures.items():
        (options.pictures / f"{name}.svg").write_text(drawn, "utf-8")
    figures = options.folder / "results/report/figures"
    for name in ("alp-curves", "languages"):
        shutil.copy(figures / f"{name}.svg", options.pictures / f"tutorial-{name}.svg")


if __name__ == "__main__":
    main()
