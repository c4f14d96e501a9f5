"""Lets tests import `storage.stream` where the compiled module is `rillway.app.storage.stream`.

Compiled modules know one another by their names in a wheel. `make compiled` copies this file to
.run/compiled, once for each layer, as `storage/__init__.py` and so on: the first that is imported
sees to it that each plain name stands for the module of the private one.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PREFIX = "rillway.app."
LAYERS = ("server", "commands", "storage", "protocol")


class PlainNames(MetaPathFinder, Loader):
    """Finds modules of the layers by plain names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in LAYERS:
            return None
        private = importlib.util.find_spec(PREFIX + fullname)
        return ModuleSpec(fullname, self, loader_state=private) if private is not None else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(PREFIX + spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """The module has run; its spec is that of the private name again."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


if __name__ in LAYERS:
    sys.meta_path.insert(0, PlainNames())
    for layer in LAYERS:
        sys.modules[layer] = importlib.import_module(PREFIX + layer)
