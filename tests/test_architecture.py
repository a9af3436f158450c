"""The layers of the package: which packages may import which, and the size of its
files.
"""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vocap"

STAGES = ("corpora", "vocabularies", "allocation", "tokenizers", "pretraining", "finetuning")
FOUNDATIONS = (
    "files",
    "storage",
    "tables",
    "text_files",
    "unigram",
    "bpe",
    "tokenizer_files",
    "training",
)
ABOVE = (
    *STAGES,
    "adapt",
    "diff",
    "starter",
    "forecast",
    "init",
    "size",
    "correlation",
    "report",
    "workflow",
)

# Imports against the two rules below, if any must stay: importing file, imported
# module.
EXCEPTIONS: set[tuple[str, str]] = set()

# The size of the project, in nodes of the syntax tree: formatting does not change it. A
# commit that raises it says in its message why.
NODES = 174566
LONGEST = 700  # lines of a file
LONGEST_FUNCTION = 60  # lines of code of a function, without comments and docstring
README_LINES = 80

# Nodes that say how a name is used, or which operator stands in an expression.
NOT_COUNTED = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


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


def count_nodes(node: ast.AST) -> int:
    """Nodes of a tree with its root, without annotations and docstrings."""
    if isinstance(node, NOT_COUNTED):
        return 0
    total = 1
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not is_docstring(child):
                total += count_nodes(child)
    return total


def is_docstring(node: ast.AST) -> bool:
    """Whether the node is a string that stands as a statement."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Lines of a function without its decorators, docstrings, comments and blank lines."""
    numbers = set(range(function.lineno, function.end_lineno + 1))
    for node in ast.walk(function):
        if is_docstring(node):
            numbers -= set(range(node.lineno, node.end_lineno + 1))
    code = [lines[number - 1].strip() for number in numbers]
    return sum(bool(line) and not line.startswith("#") for line in code)


def test_the_project_stays_within_its_budget():
    trees = [ast.parse(path.read_text("utf-8")) for path in python_files()]
    assert sum(map(count_nodes, trees)) <= NODES
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= README_LINES


@pytest.mark.parametrize(
    "path", python_files(), ids=lambda path: path.relative_to(SOURCE).as_posix()
)
def test_a_file_keeps_the_house_rules(path):
    text = path.read_text("utf-8")
    lines, file = text.splitlines(), path.relative_to(SOURCE).as_posix()
    assert len(lines) <= LONGEST, f"{file} has {len(lines)} lines: split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = code_lines(node, lines)
            assert length <= LONGEST_FUNCTION, f"{file}: {node.name}: {length} lines: split it"


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


def package_of_file(name: str) -> str:
    """The package of a module below vocap; a module that lies in none is its own.

    >>> package_of_file("vocap.tables.curve"), package_of_file("vocap.errors")
    ('tables', 'errors')
    """
    return name.removeprefix("vocap.").partition(".")[0]


def test_no_packages_import_each_other_in_a_circle():
    """Imports inside functions included; a module at the top is a package of its own."""
    graph: dict[str, set[str]] = {}
    for name, path in files_by_module().items():
        found = {module for module in named_modules(path) if module.startswith("vocap.")}
        package = package_of_file(name)
        graph.setdefault(package, set()).update(set(map(package_of_file, found)) - {package})
    graphlib.TopologicalSorter(graph).prepare()


def test_a_public_name_is_of_one_package():
    """A search for a function or class leads to one package."""
    packages: dict[str, set[str]] = {}
    for name, path in files_by_module().items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                packages.setdefault(node.name, set()).add(package_of_file(name))
    shared = {name for name, found in packages.items() if len(found) > 1}
    assert shared == set(), "name it after what it does in its package"


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
