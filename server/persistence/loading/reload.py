"""DEBUG RELOAD and DEBUG LOADAOF: replace the data in memory by the data on disk.

For tests: clients wait meanwhile, and loaded data does not count as a change.

Source: redis-server 7.0.15.
"""

from __future__ import annotations

from commands.core.instance import Instance
from commands.scripting.evaluation import Scripting
from commands.streams.policies.timer import PolicyTimer
from server.persistence.files import Files
from server.persistence.loading.loader import Loader


def reload_snapshot(
    instance: Instance, files: Files, *, flush: bool = True, merge: bool = False
) -> None:
    """DEBUG RELOAD, after saving: load the snapshot.

    Without `flush` the present data stays; with `merge` the snapshot's keys replace present ones.
    Raises LoadFailed; what was loaded before the failure stays.
    """
    if flush:
        _clear(instance)
    loader = Loader(instance, files)
    loader.replaces_keys = merge
    for _ in loader.snapshot_steps():
        pass
    _propagate_removals(instance)
    _finish(instance)
    instance.host.log("warning", "DB reloaded by DEBUG RELOAD")


def reload_append_only_file(instance: Instance, files: Files) -> None:
    """DEBUG LOADAOF, after a flush of the append-only file: load it. Raises LoadFailed."""
    _clear(instance)
    for _ in Loader(instance, files).append_only_steps():
        pass
    _finish(instance)
    instance.host.log("warning", "Append Only File loaded by DEBUG LOADAOF")


def _clear(instance: Instance) -> None:
    for db in instance.databases:
        db.clear()
    scripting = instance.feature_if_used(Scripting)
    if scripting is not None:
        scripting.libraries.clear()


def _propagate_removals(instance: Instance) -> None:
    """Replicas and the append-only file hold the expired keys that were not loaded."""
    state = instance.persistence
    dropped, state.dropped_on_load = state.dropped_on_load, []
    for db_index, key in dropped:
        if key not in instance.databases[db_index]:
            instance.propagation.propagate(db_index, [b"DEL", key])


def _finish(instance: Instance) -> None:
    """Signal all keys to blocked clients, and count no changes since the last snapshot."""
    instance.ready_keys.signal_all(instance.databases)
    instance.feature(PolicyTimer).begin()
    instance.dirty = 0
