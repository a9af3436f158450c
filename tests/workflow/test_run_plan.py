"""`RunPlan`: the plan of a run from its configuration and the files that are there,
without Snakemake.
"""

import pytest

from tests.cases import read_cases
from tests.tokenizers import scripts
from tests.workflow.conftest import ROOT
from vocap.config import Settings, load, read_files
from vocap.errors import UsageError, VocapError
from vocap.workflow.run_plan import LanguageBatch, plan_run

CASES = read_cases(__file__)
MODEL = {"tokenizer": "mono"}


@pytest.fixture
def configure(tmp_path, monkeypatch):
    """A function that gives the settings of a small run in a folder with its text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VOCAP_DATA", raising=False)
    (tmp_path / "text").mkdir()
    for lang in ("de", "ja", "ru"):
        (tmp_path / f"text/{lang}.txt").write_text("a\n")

    def settings(**changes) -> Settings:
        config = read_cases(__file__)["base"]
        config["corpora"]["table"] = str(ROOT / "config/languages.tsv")
        for key, value in changes.items():
            known = config.get(key)
            config[key] = {**known, **value} if isinstance(known, dict) else value
        return load(config)

    return settings


def test_languages_of_the_starter_corpus_share_jobs(configure):
    plan = plan_run(configure(corpora={"languages": {"ja": "starter", "ru": "starter"}}))
    assert plan.batches == [LanguageBatch(["de"]), LanguageBatch(["ja", "ru"], together=True)]
    single, starter = plan.batches
    assert (single.suffix, single.branch, single.places) == ("", "/{lang}", ["{lang}"])
    assert (starter.suffix, starter.branch, starter.places) == ("_starter", "", ["ja", "ru"])
    assert (single.threads, starter.threads) == (1, 2)
    assert plan.parallel is None and plan.development is None  # other text besides
    assert plan_run(configure()).batches == [LanguageBatch(["de", "ja", "ru"])]


def test_a_language_without_its_file_stops_a_run_and_is_left_out_of_a_dry_run(configure, tmp_path):
    (tmp_path / "text/ja.txt").unlink()
    with pytest.raises(UsageError, match=r"corpus files are missing(.|\n)*ja: no file text/ja.txt"):
        plan_run(configure())
    plan = plan_run(configure(), dry_run=True)
    assert plan.languages == ["de", "ru"]
    assert plan.notices[0].startswith("left out: language ja: no file text/ja.txt: a real run")


def test_a_tokenizer_that_is_not_there_is_left_out_with_its_model(configure, tmp_path):
    settings = configure(**CASES["a model of theirs"])
    plan = plan_run(settings)
    assert list(plan.tokenizers) == ["mono"] and list(plan.models) == ["n"]
    assert plan.notices[:2] == [
        "left out: tokenizer theirs: no file their.model; bring it, or change "
        "tokenizers.theirs.path",
        "left out: model m: its tokenizer theirs is left out",
    ]
    plan = plan_run(settings, dry_run=True)
    assert list(plan.models) == ["m", "n"] and plan.source_file("theirs") is None
    assert plan.notices[-1] == "to bring, planned as if there: their.model"
    assert plan.tokenizer_file("theirs") == (
        "results/pretraining/tokenizers/theirs/sentencepiece.model"
    )
    assert plan.tokenizer_file("mono") == "results/tokenizers/mono/sentencepiece.model"

    (tmp_path / "their.model").write_bytes(scripts.model().SerializeToString())
    assert plan_run(settings).source_file("theirs") == "their.model"
    (tmp_path / "their.model").write_text("damaged")
    with pytest.raises(VocapError, match=r"tokenizers\.theirs: their\.model"):
        plan_run(settings)
    assert "theirs" in plan_run(settings, first=False).tokenizers  # read once


def test_parallel_text_of_the_starter_corpus_and_of_the_environment(
    configure, tmp_path, monkeypatch
):
    settings = configure(corpora={"source": "starter"})
    plan = plan_run(settings)
    assert plan.parallel.pattern == "results/corpora/starter/text/parallel/test/{lang}.txt"
    assert plan.notices[0] == ("parallel text for evaluation: the starter corpus, parallel/test")
    (tmp_path / "data/text/ntrex").mkdir(parents=True)
    (tmp_path / "data/text/ntrex/de.txt.xz").touch()
    monkeypatch.setenv("VOCAP_DATA", "data")
    assert plan_run(settings).parallel.pattern == "data/text/ntrex/{lang}.txt.xz"


def test_mistakes_of_parallel_text_name_their_key(configure, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/de.txt").write_text("a\nb\n")
    (tmp_path / "own/ru.txt").write_text("a\n")
    settings = configure(corpora={"development": "own/{lang}.txt"})
    with pytest.raises(VocapError, match=r"corpora\.development: own/de\.txt has 2 lines and"):
        plan_run(settings)
    assert plan_run(settings, dry_run=True).development.pattern == "own/{lang}.txt"
    for key in ("parallel", "development"):
        nowhere = configure(corpora={key: "nowhere/{lang}.txt"})
        with pytest.raises(VocapError, match=rf"corpora\.{key}: nowhere.* no file for any of"):
            plan_run(nowhere)
    for key, follower in CASES["followers"].items():
        with pytest.raises(
            UsageError, match=rf"{key}\.fair.*: follows parallel text, and this run"
        ):
            plan_run(configure(**{key: {"fair": follower}}))


def test_a_language_that_came_after_the_starter_corpus_was_made_stops(configure, tmp_path):
    text = tmp_path / "results/corpora/starter/text"
    text.mkdir(parents=True)
    (text / "de.txt").touch()
    with pytest.raises(UsageError, match="had ja, ru; give them a source"):
        plan_run(configure(corpora={"source": "starter"}))


def test_text_of_other_machines_is_not_looked_for(configure):
    plan = plan_run(configure(**CASES["on a bucket"]))
    assert "fetched: text: web (3 languages)" in plan.notices
    assert "fetched: text for pre-training: web (1 languages)" in plan.notices
    assert plan.listed == {
        "corpora": {code: [f"s3://bucket/{code}/*.gz"] for code in ("de", "ja", "ru")},
        "pretraining": {"ja": ["s3://bucket/ja/*.gz"]},
    }
    assert plan.client_variables == {"FSSPEC_S3": '{"anon": true}'}
    assert plan.batches == [LanguageBatch(["de", "ja", "ru"])]


def test_what_is_fetched_is_announced_once(configure, tmp_path):
    downloads = read_files([ROOT / "config/sources.yaml"])["downloads"]
    downloads |= {"theirs": {"url": "https://example.org/a.model"}}
    settings = configure(**CASES["fetched"], downloads=downloads)
    done = tmp_path / "results/corpora/de/files.json"
    done.parent.mkdir(parents=True)
    done.touch()
    plan = plan_run(settings, dry_run=True)
    assert plan.notices == [
        "fetched: text: web (2 languages)",
        "fetched: tokenizers: theirs",
        "fetched: XTREME, to xtreme: squad, xquad, mlqa",
        "to bring, planned as if there: xtreme/panx (docs/finetuning.md)",
    ]
    assert plan.fetched["squad"] == ["squad/dev-v1.1.json", "squad/train-v1.1.json"]
    assert plan.downloaded("theirs") == "results/corpora/files/theirs/a.model"
    assert plan_run(settings, dry_run=True, first=False).notices == []


def test_without_an_xtreme_folder_a_run_says_so_and_a_dry_run_plans_its_tasks(configure):
    settings = configure(
        pretraining={"models": {"m": MODEL}}, finetuning={"xtreme": "nowhere", "tasks": ["mlqa"]}
    )
    assert "no folder nowhere" in plan_run(settings).notices[0]
    notices = plan_run(settings, dry_run=True).notices
    assert notices[-1].startswith("to bring, planned as if there: nowhere/mlqa")


def test_parity_without_parallel_text_of_a_language_stops_before_any_job(configure, tmp_path):
    (tmp_path / "dev").mkdir()
    for lang in ("de", "ru"):
        (tmp_path / f"dev/{lang}.txt").write_text("a\n")
    corpora = {"development": "dev/{lang}.txt"}
    parity = {"kind": "parity-bpe", "total": 1000}
    with pytest.raises(UsageError, match=r"tokenizers\.p: parity .* has none of ja; bring it, or"):
        plan_run(configure(corpora=corpora, tokenizers={"p": parity}))
    plan = plan_run(configure(corpora=corpora, tokenizers={"p": {**parity, "without": ["ja"]}}))
    assert list(plan.followers) == ["p"]
