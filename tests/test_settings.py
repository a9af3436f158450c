"""Settings of functions: one class gives the options of a command, their words, and the
messages of wrong calls.
"""

import click
import pandas as pd
import pytest
import transformers
from click.testing import CliRunner

import vocap
from tests.cases import read_cases
from tests.commands import ended
from tests.made_text import write_lines
from tests.vocabularies.factories import make_text
from vocap import options, section
from vocap.allocation.settings import AllocationRun
from vocap.corpora.sources import Sampling
from vocap.errors import UsageError
from vocap.text_files.filters import Filters
from vocap.tokenizers.settings import Bpe, JointTraining, ParityBpe
from vocap.vocabularies.settings import LadderTraining

WRONG = read_cases(__file__)

TEXT = make_text("latin", 120)


def read_options(settings: type, words: list[str], *names: str) -> dict:
    """What a command with the options of these settings gets of these words."""
    seen = []
    command = click.command()(options.of(settings, *names)(lambda **given: seen.append(given)))
    CliRunner().invoke(command, words, catch_exceptions=False, standalone_mode=False)
    return seen[0]


@pytest.mark.parametrize(
    "settings",
    [
        Bpe(total=300),
        Bpe(total=300, alpha=0.3, split={"regex": "[a-z]+|[^a-z]"}, contractions=False),
        ParityBpe(total=300, **{"from": 4}, window=7, digits=3, without=["de", "ja"]),
        AllocationRun(total=99, rule="pieces", core=0.25, per="character", without=["de"]),
        LadderTraining(coverage=0.99, threads=3),
        Sampling(source="a b", split_sentences=True, scan_bytes=9, seed=2),
        Sampling(format="jsonl:text", documents=True, filters=Filters(where=[("n", ">", 1)])),
    ],
)
def test_words_of_settings_give_them_back(settings):
    """Only what differs from the defaults is given: a new field changes no words."""
    apart = {"kind", "text", "layout", "sizes", "total", "other_rows"}
    names = sorted(type(settings).model_fields.keys() - apart)
    given = read_options(type(settings), section.words_of(settings, *apart), *names)
    changed = {name: getattr(settings, name) for name in names}
    defaults = {name: type(settings).model_fields[name].default for name in names}
    assert given == {name: one for name, one in changed.items() if one != defaults[name]}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_named(name):
    given, says = WRONG[name]
    with pytest.raises(UsageError, match=says):
        vocap.train_bpe(TEXT, None, 300, **given)


def test_an_entry_of_a_configuration_trains_as_its_fields_do():
    entry = Bpe(total=300, alpha=0.5, digits=1)
    by_entry = vocap.train_bpe({"en": TEXT}, settings=entry)
    by_names = vocap.train_bpe({"en": TEXT}, total=300, alpha=0.5, digits="1")
    assert by_entry.description == by_names.description
    assert by_entry.tokenizer.to_str() == by_names.tokenizer.to_str()
    given = JointTraining(total=200, text="lossless", layout={"mask": False})
    assert vocap.train_joint(corpora={"en": TEXT}, settings=given, total=520).total == 520


def test_a_text_that_is_none_is_named(tmp_path):
    write_lines(tmp_path / "en.txt", TEXT)
    ladder = vocap.train_ladder(tmp_path / "en.txt", sizes="150,160")
    for wrong, says in (
        ([str(tmp_path / "en.txt")] * 2, r"en.txt' is a file, .*pass pathlib\.Path$"),
        ("\n".join(TEXT), "a str is the path of a file"),
        (5, "a text is a path, a list of Path, or sentences, not 5"),
        ([], "a text without a line"),
    ):
        with pytest.raises(UsageError, match=says):
            vocap.train_ladder(wrong, sizes=[150])
    with pytest.raises(UsageError, match="no n of fi, which has a ladder"):
        vocap.allocate({"en": ladder, "fi": ladder}, {"en": 3}, 170)
    with pytest.raises(UsageError, match="vocabularies: a list; give ladders by language"):
        vocap.allocate([ladder], {"en": 3}, 170)
    with pytest.raises(UsageError, match="weights: a list; give n by language"):
        vocap.allocate({"en": ladder}, [3], 170)
    with pytest.raises(UsageError, match="sizes: give a list"):
        vocap.train_ladder(TEXT, sizes=1000)


def test_a_loaded_tokenizer_of_transformers_is_measured():
    ladder = vocap.train_ladder(TEXT, sizes=[150])
    chosen = vocap.allocate({"en": ladder}, {"en": 1}, 150)
    made = vocap.fit(chosen, {"en": ladder}, {"en": 1})
    loaded = transformers.PreTrainedTokenizerFast(tokenizer_object=made.tokenizer)
    rows = vocap.evaluate({"a": made, "b": loaded}, text={"en": TEXT}, corpora={"en": TEXT})
    pd.testing.assert_frame_equal(*(rows.tables(name)["evaluation"] for name in "ab"))
    with pytest.raises(UsageError, match="no tokenizer 'c'; measured are a, b"):
        rows.tables("c")
    with pytest.raises(UsageError, match="a dict is no tokenizer"):
        vocap.evaluate({"a": {}}, text={"en": TEXT})


def test_the_command_line_adds_the_dashes(tmp_path):
    write_lines(tmp_path / "en.txt", TEXT)
    words = ("ladder", tmp_path / "en.txt", "-o", tmp_path / "out", "--sizes", "9,8")
    done = ended(*words, status=2)
    assert done.stderr == "vocap: error: --sizes: 8 comes after 9; sizes must rise\n"
