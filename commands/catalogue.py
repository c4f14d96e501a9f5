"""The catalogue: imports every module of the families, so that `registry.COMMANDS` is complete."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(import_module(__package__).__path__, f"{__package__}."):
    import_module(_module.name)
