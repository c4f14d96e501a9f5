"""The catalogue: imports every module of the families, so that `registry.COMMANDS` is complete.

COMMAND and ACL CAT list commands in the order of the table, so that must not depend on which module
is imported first.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from commands.core.registry import sort_commands

# Of modules as they are, and compiled.
_SUFFIXES = {".py", ".so", ".pyd"}


def modules_in(package: str, folder: Path) -> Iterator[str]:
    """The names of a package's modules, in order, and of its packages, each before its own.

    `pkgutil` takes five times as long: it tries all endings that a module may have.
    """
    paths = {path.name.partition(".")[0]: path for path in folder.iterdir() if _is_module(path)}
    for name in sorted(paths):
        yield f"{package}.{name}"
        if not paths[name].suffix:
            yield from modules_in(f"{package}.{name}", paths[name])


def _is_module(path: Path) -> bool:
    if path.suffix:
        return path.suffix in _SUFFIXES and path.stem != "__init__"
    return (path / "__init__.py").exists()


for _name in modules_in(__package__, Path(__file__).parent):
    import_module(_name)
sort_commands()
