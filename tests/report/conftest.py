"""One made page for the tests that only read it."""

import pytest

from tests.report.chromium import Chromium
from tests.report.factories import make_results
from tests.report.pages import Page, write


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests of a worker."""
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    results = make_results(folder / "results")
    settings = folder / "settings.yaml"
    made_from = "".join(f"  vocap{n}k: {{kind: vocap, allocation: v{n}k}}\n" for n in (100, 200))
    made_from += (
        "".join(f"  joint{n}k: {{kind: joint}}\n" for n in (100, 200)) + "  xlmr: {kind: file}\n"
    )
    languages = "[en, de, ru, hi, fa, it, sw, km, ja, fi, sa]"
    settings.write_text(f"languages: {languages}\nseed: 7\ntokenizers:\n{made_from}")
    text = write(results, folder / "out", "--settings", settings, "--title", "Eleven languages")
    return folder, text, Page(text)
