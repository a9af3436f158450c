"""Every mistake in the configuration gets one line that names the key and the remedy,
before anything runs.
"""

import copy
import runpy

import pytest
import yaml

from tests.cases import read_cases
from tests.workflow.conftest import ROOT, base_config
from vocap.config import load, read_files
from vocap.corpora.settings import resolve_all
from vocap.errors import UsageError
from vocap.languages import default_table, read_languages

CASES = read_cases(__file__)


@pytest.fixture
def config() -> dict:
    merged = base_config()
    sources = yaml.safe_load((ROOT / "config" / "sources.yaml").read_text("utf-8"))
    merged["corpora"]["sources"] = sources["corpora"]["sources"]
    merged["finetuning"]["models"] = {}  # so that a test may name one
    merged["allocation"]["vocap-200k"] = {"total": 200_000}
    merged["corpora"]["table"] = str(ROOT / "config" / "languages.tsv")
    return merged


def edit(config: dict, path: str, value: object) -> dict:
    config = copy.deepcopy(config)
    *parents, last = path.split("/")
    section = config
    for key in parents:
        section = section.setdefault(key, {})
    section[last] = value
    return config


def test_elsewhere_the_table_of_languages_is_that_of_the_package(config, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    del config["corpora"]["table"]
    assert len(load(config).selected()) == 86
    with pytest.raises(UsageError, match="no such file"):
        load(edit(config, "corpora/table", "config/languages.tsv"))


def test_a_limit_that_is_null_is_none_and_not_the_default(config):
    assert load(config).corpora.max_characters == 75_000_000
    assert load(edit(config, "corpora/max_characters", None)).corpora.max_characters is None
    names = ("sources.yaml", "paper.yaml")
    paper = read_files(ROOT / "config" / name for name in names)
    paper["corpora"]["table"] = config["corpora"]["table"]
    assert load(paper).corpora.max_characters is None  # a million lines, as in the paper


@pytest.mark.parametrize(("path", "value", "says"), CASES["mistakes"])
def test_a_mistake_is_named_with_its_key(config, path, value, says):
    with pytest.raises(UsageError) as caught:
        load(edit(config, path, value))
    for words in says:
        assert words in str(caught.value)


def test_a_mistake_is_named_with_its_file_and_line(config, tmp_path):
    """That of the last file that gives the key, or of its section; a mistyped key is
    one mistake.
    """
    first, last = tmp_path / "first.yaml", tmp_path / "last.yaml"
    first.write_text(
        "tokenizers:\n  a.b: {kind: bep, total: 9}\n  c:\n    kind: joint\n    total: "
        "9\nlanguages: [en]\n"
    )
    last.write_text(
        "#\ntokenizers:\n  c: {kind: joint, totl: 9}\nallocation:\n  d:\n    without: [en, dx]\n"
    )
    given = read_files([first, last])
    given["tokenizers"]["c"].pop("total")
    with pytest.raises(UsageError) as caught:
        load({**config, **given}, [first, last])
    lines = str(caught.value).split("\n")[1:]
    assert [line.split(" of ")[0] for line in lines] == [
        f"  {last}, line 5: allocation.d.total: Field required",
        f"  {first}, line 2: tokenizers.a.b: Input tag 'bep' found using 'kind' does not match any",
        f"  {last}, line 3: tokenizers.c.totl: no such key here; did you mean total?",
    ]
    (tmp_path / "tabs.json").write_text('{\n\t"languages": 3}')
    with pytest.raises(UsageError, match=r"tabs\.json, line 2: languages: "):
        load({"languages": 3}, [tmp_path / "tabs.json"])


def test_a_sample_has_shares_of_lines(config):
    joint = edit(config, "tokenizers/j", {"kind": "joint", "total": 900, "per": "character"})
    assert load(joint).tokenizers["j"].per == "character"
    with pytest.raises(UsageError, match=r"tokenizers\.j\.per: character takes all lines"):
        load(edit(joint, "corpora/mix", {"sentences": 100}))


def test_what_a_causal_model_cannot_do_is_named(config):
    causal = edit(config, "pretraining/models/knn-100k/objective", "causal")
    assert (
        load(
            edit(causal, "layout", {"special": ["</s>", "<unk>"], "mask": False})
        ).pretraining.masked
        == {}
    )
    with pytest.raises(
        UsageError, match="knn-100k: a causal model needs a token of role eos; add it under layout"
    ):
        load(edit(causal, "layout", {"special": ["<s>", "<unk>"], "mask": False}))
    with pytest.raises(
        UsageError, match=r"finetuning\.models\.knn-100k: a causal model, .*; leave it out"
    ):
        load(edit(causal, "finetuning/models", {"knn-100k": {}}))


@pytest.mark.parametrize(("row", "says"), CASES["rows"])
def test_a_row_of_the_table_that_cannot_be_used_is_named(config, tmp_path, row, says):
    table = tmp_path / "languages.tsv"
    table.write_text(f"language\tname\tscript\tresource\n{row}\n", "utf-8")
    with pytest.raises(UsageError, match=says):
        load(edit(config, "corpora/table", str(table)))


@pytest.mark.parametrize("text", ["language\tname\ncv\tChuvash\n", None])
def test_a_row_of_code_and_name_is_enough(config, tmp_path, text):
    table = tmp_path / "languages.tsv"
    table.write_text(text or f"{default_table().read_text('utf-8')}cv\tChuvash\n", "utf-8")
    row = read_languages(table)["cv"]
    assert (row.name, row.script, row.resource) == ("Chuvash", "", "low")
    own = edit(edit(config, "corpora/table", str(table)), "languages", ["cv"])
    assert load(own).languages == ["cv"]
    filtered = {"mine": {"path": "{lang}.txt", "filters": {"min_script": 0.5}}}
    own = edit(edit(own, "corpora/sources", filtered), "corpora/source", "mine")
    with pytest.raises(UsageError, match="has no script of this language"):
        resolve_all(load(own).corpora, [row])["cv"].sampling()


@pytest.mark.parametrize(
    ("path", "text", "value"),
    CASES["scientific"],
)
def test_numbers_in_scientific_notation_are_read(config, path, text, value):
    """As Snakemake reads the file, with YAML 1.1, in which 1e5 is a text."""
    assert load(edit(config, path, yaml.safe_load(text))) == load(edit(config, path, value))


@pytest.mark.parametrize(("number", "base"), CASES["bases"])
def test_numbers_of_other_bases_are_refused(tmp_path, number, base):
    path = tmp_path / "own.yaml"
    path.write_text(f"seed: 1\ncorpora:\n  max_sentences: {number}\n")
    with pytest.raises(
        UsageError, match=rf"line 3: YAML reads {number} as a number of base {base}"
    ):
        read_files([path])
    path.write_text(f"report: {{title: '{number}'}}\n")
    assert read_files([path]) == {"report": {"title": number}}


@pytest.mark.parametrize(("path", "hinted"), CASES["hints"])
def test_the_hint_on_unquoted_no_is_given_where_a_name_is_expected(config, path, hinted):
    with pytest.raises(UsageError) as caught:
        load(edit(config, path, True))
    assert ("in quotes" in str(caught.value)) == hinted


def test_snakemake_stops_with_the_message_alone(workflow):
    (workflow.folder / "test.yaml").write_text("languages: [de, no]\n", "utf-8")
    said = workflow.refused("-n")
    assert '"no" in quotes' in said and 'File "' not in said
    assert not (workflow.folder / "results").exists()


def test_the_page_on_the_configuration_is_the_settings_own():
    script = runpy.run_path(str(ROOT / "dev" / "make_configuration.py"))
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert page == script["render"](), "run python dev/make_configuration.py"


def test_snakemake_names_file_and_line_of_a_key_that_is_given_twice(workflow):
    file = workflow.folder / "config/sources.yaml"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines, "corpora: null\n"]), "utf-8")
    said = workflow.refused("-n")
    assert f"sources.yaml, line {len(lines) + 1}: the key 'corpora' is given" in said


def test_a_mistake_is_one_short_line_whatever_its_key_holds(config):
    """Keys may be long, or hold line feeds, escapes for terminals and halves of
    surrogate pairs.
    """
    for key in ("x" * 10_000, "a\nb", "\x1b[2J", "\ud800"):
        for path in ("report", "tokenizers", "corpora"):
            with pytest.raises(UsageError) as caught:
                load({**config, path: {**config.get(path, {}), key: 5}})
            lines = str(caught.value).encode("utf-8").decode().split("\n")
            assert len(lines) == 2 and max(map(len, lines)) < 1000
            assert all(line.isprintable() for line in lines)
    with pytest.raises(UsageError, match="and 450 more") as caught:
        load({**config, **{f"key{number}": 1 for number in range(500)}})
    assert len(str(caught.value).splitlines()) == 51
