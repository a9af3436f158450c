"""The eight cleaning steps, each against hand-made messages and the definition computed
character by character.
"""

import unicodedata

import pytest
from fontTools.unicodedata import script as script_of
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read_cases
from vocap.languages import read_languages
from vocap.starter.cleaning import (
    are_prose,
    duplicate_keys,
    letters_and_marks,
    lines_of,
    sentences_of,
)
from vocap.starter.packages import paper_code

CASES = read_cases(__file__)

WIKITEXT = CASES["wikitext"]


@pytest.mark.parametrize(("message", "lines"), WIKITEXT)
def test_wikitext_leaves_the_visible_text(message, lines):
    assert lines_of(message, wikitext=True) == lines


PLAIN = CASES["plain"]


@pytest.mark.parametrize(("message", "lines"), PLAIN)
def test_markup_placeholders_and_code_go(message, lines):
    assert lines_of(message) == lines


def test_a_message_becomes_the_sentences_of_its_own_script():
    message = "Страница удалена. Her English sentence stays out here. Восстановить её?<br>12 : 34 и"
    found = ["Страница удалена.", "Восстановить её?", "Удалить"], [1, 1, 3]
    assert sentences_of(["12", message, "", "Удалить"], "Cyrl") == found
    assert sentences_of(["保存しました。続けますか。"], "Jpan")[0] == [
        "保存しました。",
        "続けますか。",
    ]


def by_definition(sentence: str, scripts: tuple[str, ...]) -> bool:
    letters = [c for c in sentence if unicodedata.category(c).startswith("L")]
    marks = [c for c in sentence if unicodedata.category(c).startswith("M")]
    visible = [c for c in sentence if not c.isspace()]
    scripted = [script_of(c) for c in letters if script_of(c) not in ("Zyyy", "Zinh")]
    own = [s for s in scripted if s in scripts]
    both = len(letters) + len(marks)
    return (
        both >= 3 and both >= 0.6 * len(visible) and bool(own) and len(own) >= 0.6 * len(scripted)
    )


ALPHABET = st.text(
    st.sampled_from("abzäß жя漢字かなーハ한글 कि्ेא \u200c  12.,!()ªˑ\u0301"), max_size=12
)


@pytest.mark.parametrize(
    ("script", "scripts"),
    [("Latn", ("Latn",)), ("Cyrl", ("Cyrl",)), ("Deva", ("Deva",)), ("Hans", ("Hani",)),
     ("Jpan", ("Hani", "Hira", "Kana")), ("Kore", ("Hang", "Hani"))],
)  # fmt: skip
def test_the_language_test_is_its_definition(script, scripts):
    @given(st.lists(ALPHABET, max_size=4))
    def same(sentences):
        expected = [by_definition(sentence, scripts) for sentence in sentences]
        assert are_prose(sentences, script).tolist() == expected

    same()


@given(st.text(max_size=20), st.text(max_size=20))
def test_duplicates_share_casefolded_letters_and_marks(a, b):
    def definition(text):
        return [c for c in text.casefold() if unicodedata.category(c)[0] in ("L", "M")]

    assert list(map(list, letters_and_marks([a, b]))) == [definition(a), definition(b)]
    key_a, key_b = duplicate_keys([a, b])
    assert (key_a == key_b) == (definition(a) == definition(b))


@pytest.mark.parametrize(
    ("code", "expected"),
    CASES["codes"],
)  # fmt: skip
def test_codes_of_other_programs(code, expected):
    assert paper_code(code, read_languages()) == expected
