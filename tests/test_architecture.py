"""The layers of the package: which packages may import which, and the size of its
files.
"""

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vocap"

STAGES = ("corpora", "vocabularies", "allocation", "tokenizers", "pretraining", "finetuning")
FOUNDATIONS = ("files", "tables", "text_files", "unigram", "bpe", "tokenizer_files", "training")
ABOVE = (*STAGES, "adapt", "diff", "starter", "plan", "init", "size", "correlation", "report")

# Imports against the two rules below, if any must stay: importing file, imported
# module.
EXCEPTIONS: set[tuple[str, str]] = set()

# The size of the project. A commit that raises a number says in its message why.
SOURCE_LINES, SOURCE_FILES = 33_200, 160  # 32,000 without, 33,200 with models that write
TEST_LINES = 25_936
RULE_LINES = 2_000  # of rules
README_LINES = 100
IMPORTS = 0.05  # share of import lines in src
LONGEST, SHORTEST = 600, 40  # lines of a file
LONGEST_FUNCTION, HEADED = (
    60,
    30,
)  # lines of a function; from HEADED on its steps have comment lines as headings
LONGEST_SENTENCE = 35  # words, in the pages

# Files below SHORTEST lines, each with its reason.
SHORT = {
    "__init__.py": "the lazy functions of the library",
    "__main__.py": "python -m vocap",
    "command.py": "the entry point, which imports nothing before it can be interrupted",
    "files/paths.py": "a type of paths, of four sections of the configuration",
    "report/settings.py": "the report's section of the configuration",
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
    assert not found - EXCEPTIONS, (
        "move what both stages use into a foundation package (src/vocap/tables, ...)"
    )


def test_the_foundations_import_no_stage():
    found = {
        (file, module)
        for file, package, module in imports()
        if package in FOUNDATIONS and package_of(module) in ABOVE
    }
    assert not found - EXCEPTIONS, "move what the foundation needs below the stages"


def test_the_library_does_not_import_snakemake():
    assert [file for file, _, module in imports() if module.partition(".")[0] == "snakemake"] == []


@pytest.mark.parametrize(
    "path", python_files(), ids=lambda path: path.relative_to(SOURCE).as_posix()
)
def test_a_file_keeps_the_house_rules(path):
    text = path.read_text("utf-8")
    lines, tree, file = text.splitlines(), ast.parse(text), path.relative_to(SOURCE).as_posix()
    assert len(lines) <= LONGEST, f"{file} has {len(lines)} lines: split it"
    if path.name != "__init__.py":  # which holds its package's docstring, and a few names at most
        assert len(lines) >= SHORTEST or file in SHORT, (
            f"{file}: merge it into its user, or name it in SHORT"
        )
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        where = f"{file}: {getattr(node, 'name', 'module')}"
        docstring = ast.get_docstring(node) or ""
        assert not re.match(r"(Of|The same|Those|As)\b", docstring), (
            f"{where}: a docstring without a subject"
        )
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        length = node.end_lineno - node.lineno + 1
        assert length <= LONGEST_FUNCTION, f"{where} has {length} lines: split it"
        inner = node.body[bool(docstring) :]
        body = lines[inner[0].lineno - 1 : node.end_lineno] if inner else []
        if len(body) > HEADED:
            assert any(line.lstrip().startswith("#") for line in body), (
                f"{where}: no comment lines as headings"
            )


def test_the_project_stays_within_its_budget():
    sources = [path.read_text("utf-8") for path in python_files()]
    total = sum(len(text.splitlines()) for text in sources)
    imports = sum(
        node.end_lineno - node.lineno + 1
        for text in sources
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    assert total <= SOURCE_LINES and len(sources) <= SOURCE_FILES
    assert imports <= IMPORTS * total
    assert count_lines(ROOT / "tests", "*.py") <= TEST_LINES
    assert count_lines(ROOT / "rules", "*.smk") <= RULE_LINES
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= README_LINES


def count_lines(folder: Path, pattern: str) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob(pattern))


def files_by_module() -> dict[str, Path]:
    names = {
        path: ".".join(("vocap", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in python_files()
    }
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def test_imported_modules_exist():
    imported = {
        (node.module, path.name)
        for folder in (SOURCE, ROOT / "tests", ROOT / "benchmarks", ROOT / "dev")
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vocap.")
    }
    assert [entry for entry in sorted(imported) if entry[0] not in files_by_module()] == []


def test_no_files_import_each_other_in_a_circle():
    """Imports inside functions included: `graphlib` names the files of a circle."""
    files = files_by_module()
    graph = {
        name: {module for module in named_modules(path) if module in files and module != name}
        for name, path in files.items()
    }
    graphlib.TopologicalSorter(graph).prepare()


def named_modules(path: Path) -> Iterator[str]:
    """Modules that a file imports, or from which it imports names; each name may be a
    module too.
    """
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from submodules
            if not all(
                name.rpartition(".")[2] in SUBMODULES.get(node.module, ()) for name in submodules
            ):
                yield node.module


SUBMODULES = {
    ".".join(("vocap", *folder.relative_to(SOURCE).parts)): {
        path.stem for path in folder.glob("*.py")
    }
    for folder in {path.parent for path in python_files()}
}


PAGES = sorted(
    path for pattern in ("*.md", "config/*.md", "docs/*.md") for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_of_pages_are_short(page):
    for sentence in sentences(page.read_text("utf-8")):
        assert len(sentence.split()) <= LONGEST_SENTENCE, f"{page.name}: {sentence}"


def sentences(text: str) -> Iterator[str]:
    """The sentences of running text and lists; code counts as one word, tables and
    headings do not count.
    """
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\n\n( {4}.*\n+)+", "\n\n", text)  # blocks of indented code
    text = re.sub(r"^ *(\||#|!\[|<).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?:])(?:\*\*)?\s+", " ".join(paragraph.split()))
