"""Imports `rillway.app.server` and the others from the folders of a checkout or a source tree.

A source is read with its imports renamed, line for line: `from storage.stream import Stream`
becomes `from rillway.app.storage.stream import Stream`. So the modules have the names that setup.py
gives them in a wheel. They are not the modules `storage.stream` that tests and tools import: the
two share nothing but the file.

`import cython` becomes an import of `protocol/uncompiled.py`, whether Cython is installed or not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any

PREFIX = "rillway.app."
LAYERS = ("server", "commands", "storage", "protocol")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_IMPORT = re.compile(
    rf"^(\s*)(from|import|cimport) ({'|'.join(LAYERS)})(?=[. ]|$)".encode(), re.MULTILINE
)
_CYTHON = re.compile(rb"^import cython$", re.MULTILINE)
_UNCOMPILED = f"from {PREFIX}protocol import uncompiled as cython".encode()


def with_private_imports(source: bytes) -> bytes:
    """The text of a module or a .pxd file that imports the layers by their private names."""
    return _IMPORT.sub(rb"\1\2 " + PREFIX.encode() + rb"\3", source)


def without_cython(source: bytes) -> bytes:
    """The text of a module that is interpreted: its annotations need no Cython."""
    return _CYTHON.sub(_UNCOMPILED, source)


class CheckoutFinder(MetaPathFinder):
    """Finds the modules of the layers by their private names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        names = fullname.removeprefix(PREFIX).split(".")
        if not fullname.startswith(PREFIX) or names[0] not in LAYERS:
            return None
        folder = os.path.join(ROOT, *names)
        package = os.path.join(folder, "__init__.py")
        if os.path.isfile(package):
            return spec_from_file_location(
                fullname,
                package,
                loader=_Loader(fullname, package),
                submodule_search_locations=[folder],
            )
        module = folder + ".py"
        if os.path.isfile(module):
            return spec_from_file_location(fullname, module, loader=_Loader(fullname, module))
        return None


class _Loader(SourceFileLoader):
    """Compiles a source after its imports were renamed, and keeps its bytecode beside the other."""

    def source_to_code(self, data: Any, path: Any, *_: Any, **options: Any) -> CodeType:  # type: ignore[override]
        source = without_cython(with_private_imports(data))
        return super().source_to_code(source, path, **options)

    def get_data(self, path: str) -> bytes:
        return super().get_data(_private(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        super().set_data(_private(path), data, _mode=_mode)


def _private(path: str) -> str:
    """Return the path of the bytecode; sources stay in place."""
    return path.removesuffix(".pyc") + ".private.pyc" if path.endswith(".pyc") else path
