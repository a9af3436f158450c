"""Sources: the settings, the named public ones, and their messages on a missing
language.
"""

import json
import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from tests.cases import read_cases
from vocap.corpora.settings import Corpora, client_variables, resolve_all
from vocap.corpora.sources import PathSource, StarterSource, parse_source, resolve
from vocap.errors import UsageError
from vocap.languages import natural, read_languages
from vocap.section import words_of

CASES = read_cases(__file__)

ROOT = Path(__file__).parents[2]
TABLE = natural(read_languages())
NAMED = Corpora.model_validate(
    yaml.safe_load((ROOT / "config" / "sources.yaml").read_text())["corpora"]
)


def corpora(**settings):
    return Corpora.model_validate(settings)


@pytest.mark.parametrize("name", NAMED.sources)
def test_named_source_has_an_address_for_every_language_it_has(name):
    source = NAMED.sources[name]
    assert set(source.codes) <= set(TABLE) and set(source.missing) <= set(TABLE)
    assert not set(source.codes) & set(source.missing)
    has = [language for language in TABLE.values() if language.code not in source.missing]
    found = resolve_all(NAMED.model_copy(update={"source": name}), has)
    places = [
        " ".join(entry.paths) or isinstance(entry.source, StarterSource) for entry in found.values()
    ]
    assert (
        all(places)
        and not re.search(r"\{\w+\}", str(places))
        and (name == "starter" or len(set(places)) == len(has))
    )


@pytest.mark.parametrize(
    ("name", "others"),
    CASES["individual_codes"],
)
def test_codes_of_language_and_script(name, others):
    """`others`: the codes that are not those of ISO 639-3 and ISO 15924, by the
    projects' own lists.
    """
    source = NAMED.sources[name]
    for language in TABLE.values():
        if language.code not in source.missing:
            expected = f"{language.facts['iso639_3_individual']}_{language.script}"
            code = resolve(name, source, language).code
            assert code == others.get(language.code, expected)
            assert re.fullmatch(r"[a-z]{3}_[A-Z][a-z]{3}", code)


@pytest.mark.parametrize(
    ("name", "language", "part"),
    CASES["codes"],
)
def test_codes(name, language, part):
    (path,) = resolve(name, NAMED.sources[name], TABLE[language]).paths
    assert part in path


def test_every_language_without_text_is_named_at_once():
    chosen = [TABLE[code] for code in ("ka", "ba", "tt", "de")]
    settings = NAMED.model_copy(update={"source": "cc100"})
    with pytest.raises(UsageError, match=r"\(ba\).*\n.*\(tt\)"):
        resolve_all(settings, chosen)
    found = resolve_all(
        settings.model_copy(update={"languages": {"ba": "wikipedia", "tt": "starter"}}), chosen
    )
    assert (
        list(found) == ["ka", "ba", "tt", "de"]
        and isinstance(found["tt"].source, StarterSource)
        and "20231101.ba/" in found["ba"].paths[0]
    )


def test_files_of_the_user_s():
    settings = corpora(**CASES["own files"])
    (found,) = resolve_all(settings, [TABLE["no"]]).values()
    assert found.paths == ["/d/nob.1.gz", "/d/nob.2.gz"] and not found.remote
    assert words_of(found.sampling()) == ["--format=tsv:2", "--source=mine"]


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    found = corpora(**CASES["with a tilde"])
    assert found.sources["mine"].path == ["/home/me/text/{lang}.txt"]
    assert found.parallel == "/home/me/parallel/{lang}.txt"


def test_code_column_of_a_user_s_table():
    source = PathSource(path=["https://a.example/{lang}"], code_column="theirs")
    with pytest.raises(
        UsageError, match=r"mine\.code_column: the table of languages has no 'theirs' for ka"
    ):
        resolve("mine", source, TABLE["ka"])


@pytest.mark.parametrize(
    ("source", "message"),
    CASES["wrong"],
)
def test_wrong_settings(source, message):
    with pytest.raises(ValidationError, match=message):
        corpora(sources={"mine": source})


def test_an_address_is_a_path_and_its_listing_stands_for_the_files():
    source = parse_source({"url": "https://a.example/{date}/{lang}.gz", "date": "2026"})
    assert source == parse_source({"path": ["https://a.example/{date}/{lang}.gz"], "date": "2026"})
    found = resolve("web", source, TABLE["ka"])
    assert found.remote and found.paths == ["https://a.example/2026/ka.gz"] and not found.absent
    (watched,) = found.inputs("results")
    assert watched == "results/corpora/ka/files.sha256"
    assert found.texts([watched]) == ["--listing=results/corpora/ka/files.json"]
    (watched,) = found.inputs("results", "pretraining")
    assert found.texts([watched]) == [f"--listing={found.listing('results', 'pretraining')}"]


def test_two_languages_of_one_remote_pattern():
    settings = corpora(source="web", sources={"web": {"path": "s3://b/*.jsonl"}})
    with pytest.raises(UsageError, match=r"ka and de would both read s3://b/\*\.jsonl; write"):
        resolve_all(settings, [TABLE["ka"], TABLE["de"]])


def test_options_of_clients_go_by_the_environment_and_are_never_shown():
    settings = corpora(**CASES["with options"])
    sources = resolve_all(settings, [TABLE["ka"], TABLE["de"]])
    variables = client_variables(sources.values())
    assert {key: json.loads(value) for key, value in variables.items()} == {
        "FSSPEC_S3": {"secret": "geheim", "anon": False}
    }
    assert "geheim" not in f"{settings!r} {settings.model_dump_json()} {sources}"
    other = {"path": "s3://c/{lang}/*", "storage_options": {"secret": "anders"}}
    settings.sources["web"] = parse_source(other)
    with pytest.raises(UsageError, match="s3:// has one set of options in a run") as refused:
        client_variables(resolve_all(settings, [TABLE["ka"], TABLE["de"]]).values())
    assert "geheim" not in str(refused.value) and "anders" not in str(refused.value)
