"""The catalogue: imports every module of the families, so that `registry.COMMANDS` is complete.

COMMAND and ACL CAT list commands in the order of the table, so that must not depend on which module
is imported first.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from commands.core.registry import sort_commands

for _module in walk_packages(import_module(__package__).__path__, f"{__package__}."):
    import_module(_module.name)
sort_commands()
