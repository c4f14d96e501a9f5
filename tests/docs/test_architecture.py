"""The tables of modules in docs/architecture name each module of their folder, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "architecture"
# The folder that each page describes.
FOLDERS = {
    "server": "server",
    "replication": "server/replication",
    "cluster": "server/cluster",
    "persistence": "server/persistence",
    "metrics": "server/metrics",
    "commands": "commands",
    "scripting": "commands/scripting",
    "storage": "storage",
    "snapshots": "storage/snapshot",
    "protocol": "protocol",
    "pipeline": "rillway/pipeline",
    "sampler": "rillway/sampler",
    "console": "rillway/console",
    "client": "rillway/client",
    "testing": "rillway/testing",
    "launch": "rillway/cluster",
}
LAYERS = ("server", "commands", "storage", "protocol")
TABLE = re.compile(r"^\|[^\n]*\n\| ?-[^\n]*\n((?:\|[^\n]*\n)+)", re.MULTILINE)
NAME = re.compile(r"`([^`]+(?:\.py|\.lua|/))`")
# A folder's docstring may have a line for each module, `name: what it is`.
LINE = re.compile(r"^`?(\w+/?)`?(?::| {2}) *\S", re.MULTILINE)


def names_in_tables(text: str) -> list[str]:
    """The files and folders that the first cells of all tables name."""
    rows = [row for table in TABLE.findall(text) for row in table.splitlines()]
    return [name for row in rows for name in NAME.findall(row.split("|")[1])]


def resolved(name: str, folder: Path, root: Path) -> list[Path]:
    """The paths that a name matches: from the folder or from the root, perhaps with a `*`."""
    pattern = name.rstrip("/")
    base = root if "/" in pattern and not pattern.startswith("..") else folder
    found = [path.resolve() for path in base.glob(pattern)]
    return found or [path.resolve() for path in folder.glob(pattern)]


def modules(folder: Path) -> set[Path]:
    """The modules of a folder, and its folders with modules."""
    files = {path for path in folder.glob("*.py") if path.name != "__init__.py"}
    return files | {path.parent for path in folder.glob("*/*.py")}


def discrepancies(text: str, folder: Path, root: Path) -> list[str]:
    """The names in a page's tables that do not exist, and the modules that they leave out."""
    named = {name: resolved(name, folder, root) for name in names_in_tables(text)}
    wrong = [f"{name} does not exist" for name, paths in named.items() if not paths]
    covered = {path for paths in named.values() for path in paths}
    missing = sorted(path.name for path in modules(folder.resolve()) - covered)
    return wrong + [f"{name} is not named" for name in missing]


@pytest.mark.parametrize("page", FOLDERS)
def test_the_tables_of_a_page_name_each_module_of_its_folder(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text()

    assert discrepancies(text, ROOT / FOLDERS[page], ROOT) == []


def test_every_page_that_has_a_table_of_modules_is_checked() -> None:
    pages = {path.stem for path in PAGES.glob("*.md") if names_in_tables(path.read_text())}

    assert pages - {"README", "packaging"} == set(FOLDERS)


def test_the_overview_and_the_glossary_name_only_what_exists() -> None:
    text = (PAGES / "README.md").read_text()

    missing = [name for name in NAME.findall(text) if not (ROOT / name).exists()]

    assert missing == []


@pytest.mark.parametrize(
    "package",
    [
        path
        for layer in (*LAYERS, "rillway/pipeline", "rillway/console")
        for path in sorted((ROOT / layer).rglob("__init__.py"))
        if LINE.search(path.read_text())
    ],
    ids=lambda path: str(path.relative_to(ROOT).parent),
)
def test_a_package_that_lists_its_modules_lists_all_of_them(package: Path) -> None:
    listed = {name.rstrip("/") for name in LINE.findall(package.read_text())}

    assert listed == {path.stem for path in modules(package.parent)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "layer"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__.py", "one.py", "two.py", "inner/__init__.py"):
        (folder / name).touch()
    return folder


ROWS = "| module | what it is |\n| --- | --- |\n"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("| `one.py`, `two.py` | a |\n| `inner/` | b |\n", []),
        ("| `layer/one.py` | a |\n| `t*.py` | b |\n| `inner/` | c |\n", []),
        ("| `one.py` | with `two.py` |\n| `inner/` | b |\n", ["two.py is not named"]),
        ("| `*.py` | a |\n", ["inner is not named"]),
        ("| `*.py`, `three.py` | a |\n| `inner/` | b |\n", ["three.py does not exist"]),
    ],
)
def test_a_name_too_many_and_a_name_too_few_are_found(
    tree: Path, rows: str, found: list[str]
) -> None:
    assert discrepancies(ROWS + rows, tree, tree.parent) == found
