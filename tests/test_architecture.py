"""The layers of the package: which packages may import which, and the size of its files."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vocap"

STAGES = ("corpora", "vocabularies", "allocation", "tokenizers", "pretraining", "finetuning")
FOUNDATIONS = ("files", "tables", "text_files", "unigram", "bpe", "tokenizer_files", "training")
ABOVE = (*STAGES, "adapt", "diff", "starter", "plan", "init", "size", "correlation", "report")

# Imports against the two rules below, if any must stay: importing file, imported module.
EXCEPTIONS: set[tuple[str, str]] = set()

LONGEST, SHORTEST = 600, 40  # lines of a file
# Files below SHORTEST lines, each with its reason.
SHORT = {
    "__init__.py": "the lazy functions of the library",
    "__main__.py": "python -m vocap",
    "command.py": "the entry point, which imports nothing before it can be interrupted",
    "files/paths.py": "path checks, used by several commands",
    "training/settings.py": "types of settings of two stages, which must not import torch",
    "report/settings.py": "the report's section of the configuration",
    "report/sections/provenance.py": "a part of the report, like the others of its folder",
}


def python_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imported_modules(path: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "vocap":
                yield from (f"vocap.{alias.name}" for alias in node.names)
            else:
                yield node.module


def package_of(module: str) -> str:
    """The package below vocap; "" for another distribution.

    >>> package_of("vocap.tables.curve"), package_of("numpy")
    ('tables', '')
    """
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] if top == "vocap" else ""


def imports() -> Iterator[tuple[str, str, str]]:
    """(file below src/vocap, its package, imported module)."""
    for path in python_files():
        file = path.relative_to(SOURCE)
        for module in imported_modules(path):
            yield file.as_posix(), file.parts[0], module


def test_no_stage_imports_another():
    found = {
        (file, module)
        for file, package, module in imports()
        if package in STAGES and package_of(module) in STAGES and package_of(module) != package
    }
    assert not found - EXCEPTIONS, "move what both stages use into a foundation package (src/vocap/tables, ...)"


def test_the_foundations_import_no_stage():
    found = {
        (file, module)
        for file, package, module in imports()
        if package in FOUNDATIONS and package_of(module) in ABOVE
    }
    assert not found - EXCEPTIONS, "move what the foundation needs below the stages"


def test_the_library_does_not_import_snakemake():
    assert [file for file, _, module in imports() if module.partition(".")[0] == "snakemake"] == []


PACKAGES = sorted({path.parent.relative_to(SOURCE).as_posix() for path in python_files()})


@pytest.mark.parametrize("package", PACKAGES)
def test_files_have_40_to_600_lines_or_a_reason(package):
    for path in sorted((SOURCE / package).glob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        lines = len(path.read_text("utf-8").splitlines())
        assert lines <= LONGEST, f"{file} has {lines} lines: split it"
        # An __init__.py holds its package's docstring, and a few names at most.
        if package == "." or path.name != "__init__.py":
            assert lines >= SHORTEST or file in SHORT, (
                f"{file} has {lines} lines: merge it into the module that uses it, or state a reason in SHORT"
            )
