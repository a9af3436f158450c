"""Which parallel text a run takes: the configuration's, NTREX-128, the starter corpus's own, or none."""

import pytest

from vocap.corpora.settings import VARIABLE, Corpora, development_text, evaluation_text

OWN = Corpora(parallel="test/{lang}.txt", development="dev/{lang}.txt")
NONE = Corpora()


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "text/ntrex").mkdir(parents=True)
    (tmp_path / "text/ntrex/de.txt.xz").touch()
    return {VARIABLE: str(tmp_path)}


def test_the_configuration_comes_first(environment):
    for starter in (None, "starter/text"):
        test, development = evaluation_text(OWN, ["de"], starter, environment), development_text(OWN, starter)
        assert (test.pattern, test.name, test.folder) == ("test/{lang}.txt", "test/{lang}.txt", None)
        assert development.pattern == "dev/{lang}.txt"


def test_the_starter_corpus_has_both(environment):
    test, development = evaluation_text(NONE, ["de"], "starter/text", {}), development_text(NONE, "starter/text")
    assert test.pattern == "starter/text/parallel/test/{lang}.txt"
    assert development.pattern == "starter/text/parallel/development/{lang}.txt"
    assert test.inputs(["de"]) == development.inputs(["de"]) == ["starter/text"]
    # text from elsewhere has none
    assert evaluation_text(NONE, ["de"], None, environment) is development_text(NONE, None) is None


def test_ntrex_takes_the_place_of_the_test_text_alone(environment, tmp_path):
    found = evaluation_text(NONE, ["de", "la"], "starter/text", environment)
    assert found.pattern == f"{tmp_path}/text/ntrex/{{lang}}.txt.xz"
    assert str(tmp_path) not in found.name and found.folder is None
    assert found.inputs(["de", "la"]) == [f"{tmp_path}/text/ntrex/de.txt.xz"]
    for languages, variables in (
        (["la"], environment),
        (["de"], {VARIABLE: str(tmp_path / "none")}),
        (["de"], {}),
    ):
        found = evaluation_text(NONE, languages, "starter/text", variables)
        assert found.folder == "starter/text"
