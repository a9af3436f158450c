"""The text settings of a run: section `text`, options of commands, contradictions with
other sections.
"""

import click
import pytest
from click.testing import CliRunner

from tests.cases import read_cases
from vocap.config import Settings, TextSection, load
from vocap.errors import UsageError
from vocap.languages import default_table
from vocap.options import text_options
from vocap.unigram.text_settings import LOSSLESS, XLM_R, TextSettings, text_settings
from vocap.unigram.training_settings import text_words


def read_options(*words: str) -> TextSettings:
    """The settings that a command with these options gets."""
    seen = []
    command = click.command()(text_options(lambda text: seen.append(text)))
    CliRunner().invoke(command, words, catch_exceptions=False, standalone_mode=False)
    return seen[0]


@pytest.mark.parametrize(
    "settings",
    [
        XLM_R,
        LOSSLESS,
        TextSettings(normalization="nfkc", byte_fallback=True),
        TextSettings(split_by_number=False, max_sentencepiece_length=40, required_chars="Ω,ж"),
        text_settings("lossless", split_digits=False, control_symbols=("<|a|>", 'b"c,d', "e f")),
        text_settings("lossless", add_dummy_prefix=True, user_defined_symbols=("    ", "def", ",")),
    ],
)
def test_options_give_the_settings_back(settings):
    assert read_options(*text_words(settings)) == settings


def test_symbols_are_read_as_by_the_trainer_of_sentencepiece():
    given = read_options("--user-defined-symbols", 'a,b,"c,d"', "--user-defined-symbols", "e")
    assert given.user_defined_symbols == ("a", "b", "c,d", "e")
    assert text_words(XLM_R) == [] and text_words(LOSSLESS) == ["--preset=lossless"]


def test_the_section_changes_single_keys_of_a_preset():
    section = TextSection.model_validate(
        {"preset": "lossless", "split_digits": False, "control_symbols": ["<|end|>"]}
    )
    assert section.settings == text_settings(
        "lossless", split_digits=False, control_symbols=("<|end|>",)
    )
    assert TextSection().settings == XLM_R


def configuration(**sections) -> dict:
    corpora = {"sources": {"starter": {"starter": True}}, "table": str(default_table())}
    return {"languages": ["de"], "corpora": corpora, **sections}


@pytest.mark.parametrize(("sections", "words"), read_cases(__file__))
def test_contradictions_are_named(sections, words):
    with pytest.raises(UsageError) as error:
        load(configuration(**sections))
    assert all(word in str(error.value) for word in words), error.value


def test_a_tokenizer_changes_byte_fallback_and_symbols_alone():
    settings = Settings.model_validate(
        configuration(
            text={"preset": "lossless", "user_defined_symbols": ["<url>"]},
            tokenizers={
                "plain": {"kind": "joint", "total": 1000},
                "own": {
                    "kind": "joint",
                    "total": 1000,
                    "byte_fallback": False,
                    "user_defined_symbols": [],
                },
            },
        )
    )
    run = settings.text.settings
    assert settings.tokenizers["plain"].text_of(run) == run
    assert settings.tokenizers["own"].text_of(run) == text_settings("lossless", byte_fallback=False)
