"""The functions for notebooks: the page in docs, run block by block, and mistakes."""

import ast
import inspect
import pydoc
import re

import pandas as pd
import pytest

import vocap
from tests.test_documents import ROOT
from vocap.errors import UsageError, VocapError

PAGE = (ROOT / "docs" / "notebook.md").read_text("utf-8")
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


def test_the_page_shows_what_it_gives(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = BLOCK.findall(PAGE)
    assert sum(bool(output) for _, output in blocks) == 7
    for code, output in blocks:
        value = run_block(code, names)
        if output:
            assert shown(value) == output, code
    pieces = (tmp_path / "notebook" / "allocation" / "vocabulary.tsv").read_text("utf-8").count(
        "\n"
    ) - 1
    assert pieces == names["tokenizer"].get_vocab_size() - 5


def test_the_page_and_help_name_every_function():
    said = pydoc.render_doc(vocap, renderer=pydoc.plaintext)
    for name in vocap.__all__:
        assert f"`{name}`" in PAGE and getattr(vocap, name).__doc__
        assert name in dir(vocap) and re.search(rf"(?m)^    {name}\(", said)
        assert "**" not in str(inspect.signature(getattr(vocap, name)))
    assert {"beta", "without"} <= set(inspect.signature(vocap.allocate).parameters)


def test_mistakes_are_those_of_the_commands(tmp_path):
    with pytest.raises(VocapError, match=r"no such file; check the path"):
        vocap.train_ladder(tmp_path / "nothing.txt", tmp_path / "out")
    with pytest.raises(UsageError, match=r"--sizes ten"):
        vocap.train_ladder(__file__, tmp_path / "out", sizes="ten")
    with pytest.raises(UsageError, match=r"vocap.train_ladder: .*no_such"):
        vocap.train_ladder(__file__, tmp_path / "out", no_such=1)
    for call in (vocap.read_curves, vocap.load_tokenizer):
        with pytest.raises(VocapError, match=re.escape(str(tmp_path))):
            call(tmp_path)
    assert not (tmp_path / "out").exists()
    with pytest.raises(AttributeError):
        vocap.no_such_function  # noqa: B018


def test_missing_cells_are_missing_numbers_and_codes_stay_text(tmp_path):
    (tmp_path / "t.tsv").write_text('language\tn\tpiece\nnan\t\t"\nNA\t2\ta\n', "utf-8")
    table = vocap.read_table(tmp_path / "t.tsv")
    assert table["language"].tolist() == ["nan", "NA"] and table["piece"].tolist() == ['"', "a"]
    assert table["n"].isna().tolist() == [True, False]
