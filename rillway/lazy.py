"""Public names of a package that are imported when they are first used.

Importing one module of a package, such as its arguments for --help, then does not import all of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a package's `__getattr__`. `homes`: the module of each name."""

    def get(name: str) -> object:
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
