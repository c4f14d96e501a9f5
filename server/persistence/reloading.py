"""DEBUG RELOAD and DEBUG LOADAOF: what is on disk, in the place of what there is.

Tools for tests: clients wait meanwhile, and nothing that was loaded counts as a change.

Source: redis-server 7.0.15.
"""

from __future__ import annotations

from commands.core.instance import Instance
from server.persistence.files import Files
from server.persistence.loading import Loader


def reload_snapshot(
    instance: Instance, files: Files, *, flush: bool = True, merge: bool = False
) -> None:
    """DEBUG RELOAD, after saving: load the snapshot in the place of what there is.

    Without `flush` what there is stays; with `merge` a key that comes twice is replaced. Raises
    LoadFailed; then there is what was loaded until then.
    """
    if flush:
        _clear(instance)
    loader = Loader(instance, files)
    loader.replaces_keys = merge
    for _ in loader.snapshot_steps():
        pass
    _settle(instance)
    instance.host.log("warning", "DB reloaded by DEBUG RELOAD")


def reload_append_only_file(instance: Instance, files: Files) -> None:
    """DEBUG LOADAOF, after a flush of the append-only file: load it. Raises LoadFailed."""
    _clear(instance)
    for _ in Loader(instance, files).append_only_steps():
        pass
    _settle(instance)
    instance.host.log("warning", "Append Only File loaded by DEBUG LOADAOF")


def _clear(instance: Instance) -> None:
    for db in instance.databases:
        db.clear()
    if instance.scripting_if_used is not None:
        instance.scripting_if_used.libraries.clear()


def _settle(instance: Instance) -> None:
    """Who waits for a key looks again; what was loaded is no change."""
    for db in instance.databases:
        instance.blocked.signal_all_as_ready(db.index)
    instance.dirty = 0
