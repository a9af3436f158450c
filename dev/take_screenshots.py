"""Take the pictures of the README and of docs/report.md from the report of a finished
run of the default configuration.

    PYTHONPATH=. python dev/take_screenshots.py results/report/index.html docs/pictures

Needs Debian's `chromium`, fonts for Devanagari, Japanese and Thai (as
`fonts-lohit-deva`, `fonts-vlgothic`, `fonts-tlwg-garuda-ttf`), and Pillow. Pictures are
PNG of 256 colours, 1200 px wide, each under 200 KB; that of the README is of a narrow
window in twice the pixels, to be read on a phone too.
"""

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image

from tests.report.chromium import Chromium, Tab

WIDTH, NARROW = 1200, 480  # px of the window
LIMIT = 200_000  # bytes of a picture
README = {"languages": ("#start", "#figure-languages figcaption")}
PICTURES = {  # name: what it begins with, what it ends before (both CSS selectors)
    "start": ("#start", "#figure-languages figcaption"),
    "curves": ("#figure-alp-curves", "#curves details"),
    "frontier": ("#comparison > figure", "#comparison > figure:nth-of-type(2)"),
    "comparison": (
        "#comparison > figure:nth-of-type(2)",
        "#comparison > figure:nth-of-type(2) ~ details",
    ),
}
EXPLORED = {"explorer": ("#explorer", "#explore .copy")}
MOVE = """(() => {
  const beta = document.querySelector('#explore-beta');
  beta.value = 0.35;
  beta.dispatchEvent(new Event('input'));
})()"""
TOP = "document.querySelector({!r}).getBoundingClientRect().top + scrollY"


def prepare(tab: Tab) -> None:
    """Every figure that is not folded drawn, and the explorer with its first answer."""
    tab.evaluate("document.querySelector('nav').style.position = 'static'")
    for place in range(tab.evaluate("document.querySelectorAll('figure.chart').length")):
        figure = f"document.querySelectorAll('figure.chart')[{place}]"
        if tab.evaluate(f"{figure}.checkVisibility()"):
            tab.evaluate(f"{figure}.scrollIntoView({{ behavior: 'instant' }})")
            tab.until(f"{figure}.dataset.drawn", seconds=300)
    tab.evaluate("document.querySelector('#explore').scrollIntoView({ behavior: 'instant' })")
    tab.until("document.querySelector('#explore').dataset.solved", seconds=300)
    tab.evaluate("scrollTo({ top: 0, behavior: 'instant' })")


def take(tab: Tab, width: int, first: str, then: str) -> bytes:
    """The page from one element to another, as a PNG of few colours."""
    top, end = (tab.evaluate(TOP.format(selector)) for selector in (first, then))
    picture = tab.screenshot({"x": 0, "y": top - 12, "width": width, "height": end - top})
    image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    page = options.page.resolve().as_uri()
    with tempfile.TemporaryDirectory() as profile, Chromium(Path(profile)) as browser:
        for width, scale, pictures in (
            (NARROW, 2, README),
            (WIDTH, 1, PICTURES),
            (WIDTH, 1, EXPLORED),
        ):
            tab = browser.open(page, width, 900, color_scheme="light", device_scale_factor=scale)
            prepare(tab)
            if pictures is EXPLORED:
                tab.evaluate(MOVE)
                tab.until("document.querySelector('.said').textContent.includes('lose.')")
            for name, (first, then) in pictures.items():
                data = take(tab, width, first, then)
                assert len(data) < LIMIT, f"{name}: {len(data):,} bytes"
                (options.folder / f"{name}.png").write_bytes(data)
                print(f"{name}.png {len(data):,} bytes")


if __name__ == "__main__":
    main()
