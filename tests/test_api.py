"""The functions of `vocap`: the second part of docs/tutorial.md, run block by block,
types, mistakes and threads.
"""

import ast
import inspect
import pydoc
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import is_dataclass
from typing import Any, get_args

import pandas as pd
import pytest

import vocap
from tests.made_text import write_lines
from tests.test_documents import ROOT
from tests.vocabularies.factories import make_text
from vocap.errors import UsageError, VocapError
from vocap.result import Result
from vocap.tables.allocated import Allocated

FUNCTIONS = [name for name in vocap.__all__ if name != "TextSettings"]
PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8").partition("## The same from Python")[2]
EXAMPLE = ROOT / "docs" / "example" / "text"
# a block of Python, and the block of plain text, if any, that shows the value of its
# last line
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def shown(value: object) -> str:
    text = value.to_string() if isinstance(value, pd.DataFrame) else repr(value)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def run_block(code: str, names: dict) -> object:
    """Run a block as a notebook does; the value of its last expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "page", "exec"), names)
    return eval(compile(ast.Expression(last.value), "page", "eval"), names) if last else None


def test_the_page_shows_what_it_gives_and_writes_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLE, "my-text")
    before = sorted(tmp_path.rglob("*"))
    names: dict = {}
    blocks = BLOCK.findall(PAGE)
    assert sum(bool(output) for _, output in blocks) == 8
    for code, output in blocks:
        value = run_block(code, names)
        if output:
            assert shown(value) == output, code
    assert sorted(tmp_path.rglob("*")) == before and capfd.readouterr().out == ""


@pytest.mark.parametrize("name", vocap.__all__)
def test_a_function_is_typed_and_on_the_page(name):
    function = getattr(vocap, name)
    assert f"`{name}`" in PAGE and function.__doc__
    assert name in dir(vocap)
    signature = inspect.signature(function)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    annotations = [parameter.annotation for parameter in signature.parameters.values()]
    assert inspect.Parameter.VAR_POSITIONAL not in kinds
    beside = set(signature.parameters) - {"settings"}
    if inspect.Parameter.VAR_KEYWORD in kinds:  # fields of a class of settings
        beside -= {"fields"}
    assert len(beside) <= 8 or name == "TextSettings"
    untyped = (inspect.Parameter.empty, Any, "Any", dict, list)
    assert not [one for one in annotations if one in untyped]
    assert isinstance(function, type) or signature.return_annotation not in untyped


def test_a_result_prints_in_one_short_line():
    """Tables and models are megabytes; a notebook shows the value of a line."""
    annotations = [inspect.signature(getattr(vocap, name)).return_annotation for name in FUNCTIONS]
    kinds = {part for one in annotations for part in [one, *get_args(one)]}
    kinds |= {part for one in kinds for part in get_args(one)} | {Allocated}
    results = {kind for kind in kinds if is_dataclass(kind)} - {vocap.TextSettings}
    assert results
    assert {kind for kind in results if not issubclass(kind, Result)} == set()
    ladder = vocap.train_ladder(make_text("latin", 120), sizes=[150])
    assert repr(ladder).startswith("Ladder(points: 1, ") and "lines=120" in repr(ladder)
    assert (
        repr(vocap.text_settings("lossless"))[:43] == "TextSettings(normalization='identity', remo"
    )


def test_types_are_those_of_the_modules():
    stub = (ROOT / "src" / "vocap" / "__init__.pyi").read_text("utf-8")
    found = re.findall(r"^from (\S+) import (\S+) as (\S+)$", stub, re.MULTILINE)
    assert {name: module for module, name, _ in found} == vocap.FUNCTIONS
    assert all(name == again for _, name, again in found)
    said = pydoc.render_doc(vocap, renderer=pydoc.plaintext)
    assert all(re.search(rf"(?m)^    (class )?{name}\(", said) for name in vocap.__all__)


# the page, and one T and several of each function that takes both
CALLS = """
from typing import assert_type
from vocap.allocation.stage import AllocationResult
from vocap.tokenizers.settings import BpeTraining
from vocap.tokenizers.trained import TrainedBpe, TrainedUnigram

assert_type(vocap.allocate(ladders, weights, 300), AllocationResult)
assert_type(vocap.allocate(ladders, weights, [300], beta=0.1), dict[int, AllocationResult])
assert_type(vocap.train_joint(300, corpora=texts), TrainedUnigram)
assert_type(vocap.train_joint([300, 400], corpora=texts), dict[int, TrainedUnigram])
assert_type(vocap.train_bpe(texts, weights, 300), TrainedBpe)
assert_type(vocap.train_bpe(texts, weights, [300, 400]), dict[int, TrainedBpe])
BpeTraining(total=300, alpah=0.3)  # type: ignore[call-arg]
"""


def test_mypy_knows_the_results_of_the_page(tmp_path):
    code = "".join(block for block, _ in BLOCK.findall(PAGE)) + CALLS
    (tmp_path / "page.py").write_text(code, "utf-8")
    words = [sys.executable, "-m", "mypy", "--warn-unused-ignores", tmp_path / "page.py"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_mistakes_name_the_file_or_the_parameter(tmp_path):
    with pytest.raises(VocapError, match=r"no such file; check the path"):
        vocap.train_ladder(tmp_path / "nothing.txt", tmp_path / "out")
    with pytest.raises(UsageError, match=r"sizes: .*ten"):
        vocap.train_ladder(__file__, tmp_path / "out", sizes="ten")
    with pytest.raises(UsageError, match=r"coverag: .*did you mean coverage"):
        vocap.train_ladder(__file__, tmp_path / "out", coverag=1)
    for call in (vocap.read_curves, vocap.load_tokenizer):
        with pytest.raises(VocapError, match=re.escape(str(tmp_path))):
            call(tmp_path)
    assert not (tmp_path / "out").exists()
    with pytest.raises(AttributeError):
        vocap.no_such_function  # noqa: B018


def test_two_threads_give_what_one_gives(tmp_path):
    texts = [make_text("latin", 120), make_text("kana", 90)]
    for number, lines in enumerate(texts):
        write_lines(tmp_path / f"{number}.txt", lines)

    def work(number: int) -> tuple[dict, float, list]:
        path = tmp_path / f"{number}.txt"
        ladder = vocap.train_ladder(path, sizes=[150], heldout=path)
        other = vocap.train_ladder(texts[1 - number], sizes="140:160:10", threads=2)
        chosen = vocap.allocate({"a": ladder, "b": other}, {"a": 2, "b": 1}, 280)
        tokenizer = vocap.fit(chosen.allocated, {"a": ladder, "b": other}, {"a": 2, "b": 1})
        number = vocap.alp(tokenizer.tokenizer, path)
        return ladder.models, number, chosen.vocabulary["piece"].tolist()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == list(map(work, range(2)))


def test_missing_cells_are_missing_numbers_and_codes_stay_text(tmp_path):
    (tmp_path / "t.tsv").write_text('language\tn\tpiece\nnan\t\t"\nNA\t2\ta\n', "utf-8")
    table = vocap.read_table(tmp_path / "t.tsv")
    assert table["language"].tolist() == ["nan", "NA"] and table["piece"].tolist() == ['"', "a"]
    assert table["n"].isna().tolist() == [True, False]
