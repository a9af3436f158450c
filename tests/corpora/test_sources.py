"""Sources: the settings, the named public ones, and their messages on a missing
language.
"""

import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from vocap.corpora.settings import Corpora, StarterSource, UrlSource, resolve, resolve_all
from vocap.errors import UsageError
from vocap.languages import natural, read_languages

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
        entry.url or " ".join(entry.paths) or isinstance(entry.source, StarterSource)
        for entry in found.values()
    ]
    assert (
        all(places)
        and "{lang}" not in str(places)
        and (name == "starter" or len(set(places)) == len(has))
    )


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("fineweb-2", {"fa": "fas_Arab", "ko": "kor_Hang", "tl": "fil_Latn", "zh": "cmn_Hani"}),
        ("hplt", {"ar": "ara_Arab", "et": "est_Latn", "ko": "kor_Hang", "zh": "zho_Hans"}),
        ("flores-plus", {"ko": "kor_Hang", "tl": "fil_Latn"}),
    ],
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
    [
        ("cc100", "zh", "/zh-Hans.txt.xz"),
        ("cc100", "no", "/no.txt.xz"),
        ("madlad400", "he", "data/iw/iw_clean_0000"),
        ("mc4", "tl", "c4-fil.tfrecord-00000-of-00064.json.gz"),
        ("tatoeba", "fa", "/pes/pes_sentences"),
        ("tatoeba", "no", "/nob/nob_sentences"),
        ("wikipedia", "tt", "/ttwiki-"),
        ("fineweb-2", "no", "/data/nob_Latn/train/000_00000.parquet"),
        ("hplt", "sq", "/two/cleaned/als_Latn/1.jsonl.zst"),
    ],
)
def test_codes(name, language, part):
    assert part in resolve(name, NAMED.sources[name], TABLE[language]).url


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
        and "bawiki" in found["ba"].url
    )


def test_files_of_the_user_s():
    settings = corpora(
        source="mine",
        sources={
            "mine": {
                "path": ["/d/{lang}.1.gz", "/d/{lang}.2.gz"],
                "format": "tsv:2",
                "codes": {"no": "nob"},
            }
        },
    )
    (found,) = resolve_all(settings, [TABLE["no"]]).values()
    assert found.paths == ["/d/nob.1.gz", "/d/nob.2.gz"] and found.url is None
    assert found.sample_options() == ["--language", "no", "--source", "mine", "--format", "tsv:2"]


def test_removed_and_unknown_sources():
    settings = corpora(source="gone", sources={"gone": None, "mine": {"path": "x"}})
    with pytest.raises(UsageError, match=r"ka takes its text from 'gone', no such source \(mine\)"):
        resolve_all(settings, [TABLE["ka"]])


def test_code_column_of_a_user_s_table():
    source = UrlSource(url="https://a.example/{lang}", code_column="theirs")
    with pytest.raises(
        UsageError, match=r"mine\.code_column: the table of languages has no 'theirs' for ka"
    ):
        resolve("mine", source, TABLE["ka"])
    with pytest.raises(UsageError, match=r"codes\.ka: '\.\./x' cannot be a code"):
        resolve(
            "mine", UrlSource(url="https://a.example/{lang}", codes={"ka": "../x"}), TABLE["ka"]
        )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "exactly one of url, path and starter; this one has 0"),
        ({"url": "https://a.example/x", "path": "x"}, "this one has 2"),
        ({"starter": True, "format": "tsv:1"}, "stands alone"),
        ({"starter": False}, "starter"),
        ({"url": "file:///x"}, "http:// or https://"),
        ({"path": "x/{l}"}, r"\{l\} has no meaning here"),
        ({"path": "x", "format": "csv"}, "write text, jsonl:FIELD"),
    ],
)
def test_wrong_settings(source, message):
    with pytest.raises(ValidationError, match=message):
        corpora(sources={"mine": source})
