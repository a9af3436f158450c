"""Made results for a test, and one page for the tests that only read it."""

import shutil
from pathlib import Path

import pytest

from tests.cases import edit
from tests.report import factories
from tests.report.chromium import Chromium
from tests.report.factories import make_results
from tests.report.pages import Page, write
from vocap.files.io import write_tsv


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests of a worker."""
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="session", autouse=True)
def smoke_results(smoke):
    factories.SMOKE = smoke


@pytest.fixture
def results(tmp_path):
    """Results of ten languages, `make_results`."""
    return make_results(tmp_path / "results")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The page of ten languages: with a dead piece, unknown characters, and too little
    text.
    """
    folder = tmp_path_factory.mktemp("report")
    results = make_results(folder / "results")
    edit(results / "corpora/ru/stats.json", missing="only 612 lines in django", overlong=17)
    for tokenizer in (results / "tokenizers").glob("*00k"):
        with open(tokenizer / "pieces.tsv", "a", encoding="utf-8") as file:
            file.write("▁shadow\t2004\t-20.0\tde,en\tdead\t▁sha dow\n")
    unknown = [("en", "ꙮ", 12), ("fi", "\u0301", 3)]
    write_tsv(results / "tokenizers/xlmr/unknown.tsv", ("language", "character", "count"), unknown)
    shutil.copy(Path(__file__).with_name("settings.yaml"), folder)
    options = ("--settings", folder / "settings.yaml", "--title", "Eleven languages")
    text = write(results, folder / "out", *options)
    return folder, text, Page(text)
