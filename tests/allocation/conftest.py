"""Three small languages, with what the stages before allocation make of them."""

import shutil

import pytest

from tests.commands import ended
from tests.made_text import write_lines
from tests.vocabularies.factories import make_text
from vocap.files.io import write_tsv

TEXTS = {"aa": ("latin", 1, 9000.0), "bb": ("latin", 2, 700.0), "cc": ("kana", 1, 2000.0)}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Texts, and what the stages before allocation make of them."""
    root = tmp_path_factory.mktemp("pieces")
    for code, (script, seed, _) in TEXTS.items():
        lines = make_text(script, 160, seed)
        folder, models = root / "corpora" / code, root / "v" / code
        write_lines(folder / "train.txt", lines[:150])
        write_lines(folder / "heldout.txt", lines[150:])
        files = (folder / "train.txt", "--heldout", folder / "heldout.txt")
        ended("ladder", *files, "-o", models, "--sizes", "20,150,200,250")
    write_tsv(root / "w.tsv", ("language", "n"), [(code, n) for code, (_, _, n) in TEXTS.items()])
    return root


@pytest.fixture
def folder(trained, tmp_path):
    """A copy to spoil."""
    shutil.copytree(trained, tmp_path / "copy")
    return tmp_path / "copy"
