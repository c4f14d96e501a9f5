"""No circle of imports among the modules, those for type checking and inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
PACKAGES = ("server", "commands", "storage", "protocol", "rillway")

Graph = dict[str, set[str]]  # a module, and those that it imports


def import_graph(root: Path) -> Graph:
    """The imports of each module below `root`, wherever in it they stand."""
    paths = {name_of(path.relative_to(root)): path for path in modules_in(root)}
    return {
        name: {found for found in imported(path, paths.keys()) if found != name}
        for name, path in paths.items()
    }


def modules_in(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        yield from (root / package).rglob("*.py")


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, names: Container[str]) -> Iterator[str]:
    for node in statements(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in names:
                    yield inner
                elif node.module in names:
                    yield node.module


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Those of a body and in them, without their expressions: these are most of a tree."""
    for node in body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from statements(getattr(node, part, ()))


def circle_in(graph: Graph) -> list[str]:
    """The names around one circle, each imported by the next; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_no_imports_form_a_circle() -> None:
    graph = import_graph(ROOT)
    assert not circle_in(graph), " <- ".join(circle_in(graph))


@pytest.mark.parametrize(
    "statement",
    [
        "import storage.outer",
        "from storage import outer",
        "from storage.outer import Outer",
        "if TYPE_CHECKING:\n    from storage.outer import Outer",
        "def make():\n    from storage.outer import Outer\n    return Outer()",
    ],
)
def test_a_circle_is_found(tmp_path: Path, statement: str) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage/outer.py").write_text("from storage.inner import Inner\n")
    (tmp_path / "storage/inner.py").write_text("import sys\n")
    assert not circle_in(import_graph(tmp_path))
    (tmp_path / "storage/inner.py").write_text(statement + "\n")
    assert set(circle_in(import_graph(tmp_path))) == {"storage.inner", "storage.outer"}
