"""The catalogue: every module of the families is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import walk_packages

import commands
from commands.catalogue import modules_in


def test_it_imports_what_python_finds_in_the_package() -> None:
    found = [module.name for module in walk_packages(commands.__path__, "commands.")]
    assert list(modules_in("commands", Path(commands.__path__[0]))) == found
    assert {name.rpartition(".")[2] for name in found} <= {
        name.rpartition(".")[2] for name in sys.modules
    }


def test_compiled_modules_are_found_and_files_of_other_kinds_are_not(tmp_path: Path) -> None:
    for name in ("b.cpython-311-x86_64-linux-gnu.so", "a.py", "a.pxd", "a.json", "__init__.py"):
        (tmp_path / name).touch()
    for folder, file in (("c", "__init__.py"), ("c", "d.py"), ("data", "e.lua")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).touch()
    assert list(modules_in("p", tmp_path)) == ["p.a", "p.b", "p.c", "p.c.d"]
