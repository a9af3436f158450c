"""Parallel text out of held-out messages, by brute force on made packages."""

import random
from collections import defaultdict
from itertools import chain

import orjson
import pytest

from tests.archives import write_zip
from tests.commands import ended
from tests.starter.test_packages import po
from vocap.files.io import read_object
from vocap.starter import cleaning
from vocap.starter.merging import LEAST_PART

SCRIPTS = {"de": "Latn", "la": "Latn", "ru": "Cyrl", "am": "Ethi", "en": "Latn"}
LETTERS = {"Latn": "abdeg", "Cyrl": "абвгд", "Ethi": "ሀለመሠረ"}
HEADER = "language\tname\tscript\tresource\n"


def made_text(rng: random.Random, script: str) -> str:
    """One or two sentences of a few letters, so that some are equal; sometimes nothing,
    or code.
    """
    kind = rng.random()
    if kind < 0.1:
        return ""
    if kind < 0.15:
        return "a == b"
    letters = LETTERS[script]
    words = [
        " ".join(
            "".join(rng.choices(letters, k=rng.randint(1, 3))) * 2 for _ in range(rng.randint(1, 2))
        )
        for _ in range(1 if kind < 0.9 else 2)
    ]
    return " ".join(f"{word.capitalize()}." for word in words)


def made_catalogues(seed: int) -> dict[str, dict[tuple[str, str], dict[str, str]]]:
    """Package to (domain, language) to id to text; a language lacks some of the
    messages.
    """
    rng = random.Random(seed)
    packages: dict = {"homeassistant": {}, "django": {}}
    for part in ("one", "two"):
        english = {f"id{number}": made_text(rng, "Latn") for number in range(120)}
        packages["homeassistant"][part, "en"] = english
        for language, script in SCRIPTS.items():
            if language != "en":
                share = rng.choice([0.4, 0.9])
                packages["homeassistant"][part, language] = {
                    number: text if rng.random() < 0.05 else made_text(rng, script)
                    for number, text in english.items()
                    if rng.random() < share
                }
    ids = list(dict.fromkeys(text for text in (made_text(rng, "Latn") for _ in range(80)) if text))
    for language, script in SCRIPTS.items():
        packages["django"]["conf", language] = {
            text: "" if language == "en" else made_text(rng, script) for text in ids
        }
    return packages


def write_packages(folder, packages):
    files = {
        f"homeassistant/components/{part}/translations/{language}.json": orjson.dumps(texts)
        for (part, language), texts in packages["homeassistant"].items()
    }
    write_zip(folder / "homeassistant", files)
    files = {
        f"django/{part}/locale/{language}/LC_MESSAGES/django.po": po(texts)
        for (part, language), texts in packages["django"].items()
    }
    write_zip(folder / "django", files)


@pytest.fixture(scope="module", params=range(3))
def made(request, tmp_path_factory):
    """The folder of a starter corpus of two made packages, and these."""
    folder = tmp_path_factory.mktemp("made")
    packages = made_catalogues(request.param)
    write_packages(folder, packages)
    rows = "".join(f"{code}\t{code}\t{script}\thigh\n" for code, script in SCRIPTS.items())
    (folder / "languages.tsv").write_text(f"{HEADER}{rows}python\tPython\tLatn\tcode\n")
    table = ("--languages-table", folder / "languages.tsv")
    for name in packages:
        ended("starter-extract", name, folder / name, "-o", folder / "m" / name, *table)
    tables = [folder / "m" / name for name in packages]
    ended("starter-merge", "-o", folder / "text", *tables, *table)
    return folder, packages


NAMES = ("development", "test")


def lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def held_out(folder, language):
    """The lines of the language in each of the two parallel texts."""
    return [lines(folder / f"text/parallel/{name}/{language}.txt") for name in NAMES]


def english_keys(packages):
    """The keys of all English sentences."""
    texts = all_messages(packages, "en").values()
    return {duplicate_key(one) for text in texts for one in sentences_of(text, "Latn")}


def all_messages(packages, language):
    """(package, domain, id) to the text of every message that is not empty; gettext's
    English is its ids.
    """
    found = {}
    for name, catalogues in packages.items():
        for (part, code), texts in catalogues.items():
            if code == language:
                for number, text in texts.items():
                    found[name, part, number] = (
                        number if name == "django" and language == "en" else text
                    )
    return {key: text for key, text in found.items() if text}


def sentences_of(message, script):
    """The sentences of one message."""
    return cleaning.sentences_of([message], script)[0]


def duplicate_key(sentence):
    """The key of one sentence."""
    return cleaning.duplicate_keys([sentence])[0]


def translations(packages, language):
    """English sentence to the sentences that are its translations: both are the only
    one of their message.
    """
    english, own = all_messages(packages, "en"), all_messages(packages, language)
    pairs = defaultdict(set)
    for key, text in english.items():
        source = sentences_of(text, "Latn")
        target = sentences_of(own.get(key, ""), SCRIPTS[language])
        if len(source) == 1 and len(target) == 1:
            pairs[source[0]].add(target[0])
    return pairs


def test_every_line_is_the_translation_of_its_english_line(made):
    folder, packages = made
    both = held_out(folder, "en")
    for english in both:
        assert len(english) > 5 and all(english)
        assert len(set(map(duplicate_key, english))) == len(english)
    for language in SCRIPTS:
        pairs = translations(packages, language)
        for english, texts in zip(both, held_out(folder, language), strict=True):
            aligned = zip(english, texts, strict=True)
            assert all(text in pairs[source] for source, text in aligned if text)
    assert not list(folder.glob("text/parallel/*/python.txt"))


def test_no_held_out_sentence_is_in_any_other_text_of_its_language(made):
    folder, packages = made
    for language, script in SCRIPTS.items():
        text = [duplicate_key(line) for line in lines(folder / "text" / f"{language}.txt")]
        parts = held_out(folder, language)
        held = [duplicate_key(line) for part in parts for line in part if line]
        assert len(set(held)) == len(held) and len(set(text)) == len(text)
        assert not set(text) & set(held)
        # and nothing else is lost: every sentence of the packages is in one of the two
        known = set() if language == "en" else english_keys(packages)
        own = all_messages(packages, language).values()
        sentences = chain.from_iterable(sentences_of(value, script) for value in own)
        assert {*text, *held} == set(map(duplicate_key, sentences)) - known
        for part in parts:
            assert sum(map(bool, part)) <= len({*text, *held}) // LEAST_PART


def test_the_most_translated_messages_are_chosen(made):
    folder, packages = made
    known = english_keys(packages)
    found = defaultdict(int)  # by English sentence: its languages, over all messages that have it
    for language in set(SCRIPTS) - {"en"}:
        for source, targets in translations(packages, language).items():
            found[source] += any(duplicate_key(target) not in known for target in targets)
    chosen = [*chain.from_iterable(held_out(folder, "en"))]
    left = set(found) - set(chosen)
    # a sentence that repeats an earlier one of its language is no translation of its
    # own, so this is a bound
    assert sum(found[source] for source in chosen) / len(chosen) > sum(
        found[source] for source in left
    ) / len(left)


def test_the_report_counts_the_shared_lines(made):
    folder, _ = made
    report = read_object(folder / "text/report.json")
    for language in SCRIPTS:
        counted = [sum(map(bool, part)) for part in held_out(folder, language)]
        found = report["languages"][language]["parallel"]
        assert found == dict(zip(NAMES, counted, strict=True))
    assert "parallel" not in report["languages"]["python"]


def test_a_message_of_several_texts_has_no_translation(tmp_path):
    """Plural forms, and one id under two contexts, are ambiguous; of a single form the
    translation is known.
    """
    catalogue = (
        'msgid ""\nmsgstr ""\n\nmsgid "One page"\nmsgid_plural "Many pages"\nmsgstr[0] '
        '"Одна"\nmsgstr[1] "Две"\n'
        'msgstr[2] "Много"\n\nmsgctxt "a"\nmsgid "Open"\nmsgstr "Открыть"\n\nmsgctxt "b"\nmsgid '
        '"Open"\n'
        'msgstr "Открыто"\n\nmsgid "Close"\nmsgstr "Закрыть"\n'
    )
    write_zip(
        tmp_path / "django", {"django/conf/locale/ru/LC_MESSAGES/django.po": catalogue.encode()}
    )
    ended("starter-extract", "django", tmp_path / "django", "-o", tmp_path / "messages")
    rows = [
        line.split("\t")
        for code in ("en", "ru")
        for line in lines(tmp_path / f"messages/{code}.tsv")[1:]
    ]
    message = {text: key for _, key, text in rows}
    assert message["Одна"] == message["One page"] != ""
    assert message["Закрыть"] == message["Close"] != ""
    assert {message[text] for text in ("Две", "Много", "Открыть", "Открыто")} == {""}
    assert len({message[text] for text in ("One page", "Many pages", "Open", "Close")}) == 4
