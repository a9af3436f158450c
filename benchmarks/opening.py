"""How long does the report's page of the paper's full grid take to open? On a made run:
a real one takes days.

    PYTHONPATH=. python benchmarks/opening.py [--keep DIR] [--opens 5] [--page FILE]

Makes 86 languages x 50 sizes with pieces, characters, two allocations and five
tokenizers, writes the report on them, and opens its page in headless Chromium (Debian's
`chromium`), each time in a new profile. Prints the page's bytes and, of each opening,
milliseconds from the start of navigation to: the first text on the screen; the load
event; every figure drawn that is within the window; the end of the last task of 50 ms
or more (what follows keeps nobody waiting); and the main thread's seconds at work by
then.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.allocation import made_vocabularies, write_language
from tests.report.chromium import Chromium, Tab
from tests.report.factories import make_baseline, make_corpora, make_tokenizer, write_choice
from tests.report.pages import write
from vocap.allocation.inputs import gather
from vocap.files.io import write_tsv
from vocap.languages import read_languages
from vocap.tables.curve import write_characters

SIZES = [1000 * (step + 1) for step in range(50)]
TOTALS = (250_000, 500_000)
FIRST = {"zh": 0x4E00, "ja": 0x4E00, "ko": 0xAC00}  # of a language's characters
QUIET = 1500  # ms without a long task: the page is at rest

# before the page's own scripts: long tasks, and when each figure is drawn
WATCH = """
window.seen = { long: 0, drawn: {} };
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries())
    seen.long = Math.max(seen.long, startTime + duration);
}).observe({ type: 'longtask', buffered: true });
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.dataset?.drawn) seen.drawn[target.dataset.chart] ??= performance.now();
  }
}).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-drawn'] });
"""
TELL = """(() => {
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  const visible = [...document.querySelectorAll('figure.chart')]
    .filter((figure) => figure.getBoundingClientRect().top < innerHeight)
    .map((figure) => seen.drawn[figure.dataset.chart] ?? Infinity);
  const [navigation] = performance.getEntriesByType('navigation');
  const atRest = Math.max(seen.long, navigation.loadEventEnd, ...Object.values(seen.drawn));
  return { text: paint?.startTime, load: navigation.loadEventStart,
    visible: Math.max(0, ...visible), figures: visible.length,
    drawn: Object.keys(seen.drawn).length, atRest, now: performance.now() };
})()"""


def make_grid(folder: Path) -> Path:
    """The results folder of a run of the full grid."""
    codes = list(read_languages())
    make_corpora(folder, codes)
    for place, code in enumerate(codes):
        rng = np.random.default_rng(place)
        write_language(
            folder / "vocabularies" / code,
            SIZES,
            made_vocabularies(place, SIZES, rng),
            rng,
            models=False,
        )
        dice = random.Random(place)
        first = FIRST.get(code) or dice.choice([0x61, 0x400, 0x900, 0x600])
        number = 4000 if code in FIRST else dice.randrange(300, 2500)
        counts = {chr(first + rank): int(1e7 / (rank + 1) ** 1.8) + 1 for rank in range(number)}
        write_characters(folder / "vocabularies" / code / "characters.tsv", counts, 100_000)
    n = {code: float(int(10 ** (6 - 3 * place / len(codes)))) for place, code in enumerate(codes)}
    rows = [(code, int(count), "lines") for code, count in n.items()]
    write_tsv(folder / "corpora" / "weights.tsv", ("language", "n", "source"), rows)
    inputs = gather(folder / "vocabularies", n)
    for total in TOTALS:
        write_choice(folder, f"v{total // 1000}k", inputs, total=total)
        make_tokenizer(folder, f"vocap{total // 1000}k", "vocap", codes, total)
        make_tokenizer(folder, f"joint{total // 1000}k", "joint", codes, total, seed=5)
    make_baseline(folder, "xlmr", codes)
    return folder


def at_rest(tab: Tab) -> dict[str, float]:
    """What TELL says once the page has been quiet for a while."""
    while True:
        told = tab.evaluate(TELL)
        if told["now"] - told["atRest"] > QUIET and told["drawn"] >= told["figures"]:
            return told
        time.sleep(0.2)


def opened(page: Path) -> dict[str, float]:
    """One opening in a new profile."""
    with tempfile.TemporaryDirectory() as profile, Chromium(Path(profile)) as browser:
        tab = browser.open(page.as_uri(), script=WATCH)
        told = at_rest(tab)
        metrics = {
            one["name"]: one["value"] for one in tab.call("Performance.getMetrics")["metrics"]
        }
        names = ("Task", "Script", "Layout", "RecalcStyle")
        return {
            **told,
            **{name: metrics[f"{name}Duration"] for name in names},
            "nodes": metrics["Nodes"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="work here, and use what is there already")
    parser.add_argument("--opens", type=int, default=5)
    parser.add_argument("--page", type=Path, help="open this page, make none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = options.keep or Path(temporary)
        page = options.page or root / "report" / "index.html"
        if not page.exists():
            results = root / "results"
            write(results if results.exists() else make_grid(results), root / "report")
        print(f"{page.stat().st_size:,} bytes")
        opens = [opened(page.resolve()) for _ in range(options.opens)]
    print(
        "  text    load visible at rest |   task script layout  style     nodes figures in the "
        "window, drawn"
    )
    for one in opens:
        seconds = "".join(
            f"{one[name]:7.2f}" for name in ("Task", "Script", "Layout", "RecalcStyle")
        )
        print(
            "".join(f"{one[name]:8.0f}" for name in ("text", "load", "visible", "atRest"))
            + f" |{seconds}{one['nodes']:10,.0f} {one['figures']}, {one['drawn']}"
        )
    print(f"median at rest: {statistics.median(one['atRest'] for one in opens):.0f} ms")


if __name__ == "__main__":
    sys.exit(main())
