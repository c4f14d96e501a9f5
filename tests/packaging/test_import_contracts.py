"""The layers: import-linter's contracts hold, and would notice if they did not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
LAYERS = ("server", "commands", "storage", "protocol")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
FAMILIES = [
    name.replace(".", "/")
    for contract in CONTRACTS
    for name in contract.get("forbidden_modules", ())
    if name.startswith("commands.")
]
LINTER = Path(sys.executable).parent / "lint-imports"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINTER, "--no-cache"], cwd=folder, check=False, capture_output=True, text=True
    )


def rooms() -> list[str]:
    """The folders that contracts name in a package of `rillway`, as paths."""
    return [
        f"{container}/{room}".replace(".", "/")
        for contract in CONTRACTS
        for container in contract.get("containers", ())
        for layer in contract["layers"]
        for room in layer.split(" | ")
    ]


def packages() -> list[str]:
    """`rillway` and its packages that contracts name, as paths."""
    kinds = ("source_modules", "forbidden_modules", "modules", "containers")
    names = {name for contract in CONTRACTS for kind in kinds for name in contract.get(kind, ())}
    return sorted(name.replace(".", "/") for name in names if name.startswith("rillway"))


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A repository of almost empty layers under the real contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    families = [*FAMILIES, "commands/core"]
    for package in (*LAYERS, *packages(), *rooms(), *families):
        (tmp_path / package).mkdir(parents=True, exist_ok=True)
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "server/main.py").touch()
    return tmp_path


def test_the_layers_of_this_repository_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_tree_without_violations_passes(small_tree: Path) -> None:
    result = lint(small_tree)
    assert result.returncode == 0, result.stdout + result.stderr


def test_forbidden_imports_are_noticed(small_tree: Path) -> None:
    """All in one run of the linter: it takes half a second."""
    statements = {
        "storage/clock.py": "import time",
        "commands/chance.py": "from secrets import token_hex",
        "protocol/loop.py": "import asyncio",
        "storage/files.py": "def size(path):\n    import os\n    return os.stat(path)",
        "storage/outward.py": "import commands",
        "protocol/outward.py": "from server import main",
        "rillway/shortcut.py": "from storage import __name__",
        "rillway/sampler/clock.py": "import time",
        "rillway/pipeline/wire/outward.py": "from rillway.pipeline import archive",
    }
    for module, statement in statements.items():
        (small_tree / module).write_text(statement + "\n")
    result = lint(small_tree)
    assert result.returncode == 1, result.stdout + result.stderr
    for module in statements:
        assert f" {module[:-3].replace('/', '.')} -> " in result.stdout, result.stdout


def test_the_servers_code_has_few_doors() -> None:
    """By private names, which import-linter does not follow into a wheel's modules."""
    doors = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "rillway").rglob("*.py")
        if path.parent.name != "app" and re.search(r"rillway\.app\.", path.read_text())
    }
    assert doors == {
        "rillway/__main__.py",
        "rillway/backup/snapshot.py",
        "rillway/restore/moments.py",
        "rillway/testing/fake_server.py",
        "rillway/testing/launcher.py",
    }
