"""A primary's snapshot in the place of the data: all of it, or nothing.

It is complete, in a file or in memory, and its checksum right before anything of it is read. It is
loaded in slices into databases of its own; only when that has succeeded do they change places with
those that clients see. Until then the old data is served (`repl-diskless-load swapdb`), or
everything is refused with -LOADING. So a replica needs memory for both for a while. Redis, unless
told otherwise, drops the old data first, and is left with half of the new if that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commands.connection.invalidation_table import TrackingTable
from commands.core.instance import Instance
from commands.scripting.evaluation import Scripting
from commands.scripting.libraries import Libraries
from commands.streams.policies.timer import PolicyTimer
from commands.transactions.watched_keys import Watchers
from protocol.errors import ReplyError
from protocol.records import record
from server.persistence.files import Buffer
from server.persistence.loading.snapshot_restore import (
    SnapshotRestore,
    UnfitContent,
    loaded_lines,
    squeeze_nodes,
)
from storage.keyspace.database import Database, SlotIndex
from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.reader import SnapshotReader, UnsupportedValue
from storage.types.value import as_int64

# The time slice of loading.
SLICE_US = 10_000


class InstallationFailed(Exception):
    """The snapshot cannot be loaded; the data is unchanged."""


@record
class Outcome:
    """The result: where the stream continues after the snapshot."""

    stream_db: int = 0


class Installation:
    """Installs one snapshot."""

    def __init__(self, instance: Instance, content: Callable[[], Buffer]) -> None:
        """`content` returns the snapshot, or raises OSError."""
        self.outcome = Outcome()
        self._instance = instance
        self._content = content
        self._libraries: Libraries | None = None  # the snapshot's functions

    def steps(self) -> Iterator[None]:
        """Load it, in slices, and put it in place. Raises InstallationFailed."""
        instance = self._instance
        free, cache = instance.background_work.free, instance.entry_cache
        databases = [Database(db.index, free, cache) for db in instance.databases]
        if instance.is_cluster:
            databases[0].slots = SlotIndex()
        try:
            yield from self._load(databases)
        except BaseException:
            for db in databases:
                db.clear()
            raise
        self._log_replacement()
        self._replace_data(databases)

    def _log_replacement(self) -> None:
        """In Redis's words. Its order differs: it may flush first, and then load."""
        log = self._instance.host.log
        if self._instance.config.repl_diskless_load == "swapdb":
            log("notice", "MASTER <-> REPLICA sync: Swapping active DB with loaded DB")
            log("notice", "MASTER <-> REPLICA sync: Discarding old DB in background")
        else:
            log("notice", "MASTER <-> REPLICA sync: Flushing old data")

    def _load(self, databases: list[Database]) -> Iterator[None]:
        instance = self._instance
        monotonic_us = instance.host.monotonic_us
        try:
            reader = SnapshotReader(
                self._content(),
                skip_unsupported=instance.config.rdb_skip_unsupported,
                validates=instance.config.sanitize_dump_payload == "yes",
                now_ms=instance.now_ms,
            )
            restore = SnapshotRestore(
                instance, reader, now_ms=instance.now_ms, keeps_expired=True, databases=databases
            )
            until_us = monotonic_us() + SLICE_US
            for position in restore.steps():
                instance.persistence.loading_loaded_bytes = position
                if monotonic_us() >= until_us:
                    yield
                    until_us = monotonic_us() + SLICE_US
        except OSError as error:
            raise InstallationFailed(str(error)) from error
        except (CorruptSnapshot, UnsupportedValue, UnfitContent) as error:
            raise InstallationFailed(f"the snapshot of the primary is refused: {error}") from None
        self._prepare_libraries(reader.libraries)
        self.outcome.stream_db = self._stream_db(reader)
        instance.background_work.tidy(squeeze_nodes(restore.nodes))
        state = instance.persistence
        state.loaded_keys, state.expired_keys_on_load = restore.loaded, restore.expired
        state.skipped_keys_on_load = reader.skipped.total()
        for line in loaded_lines(restore, reader.aux, instance.now_ms):
            instance.host.log("notice", line)

    def _prepare_libraries(self, codes: list[bytes]) -> None:
        scripting = self._instance.feature_if_used(Scripting)
        if not codes and scripting is None:
            return
        try:
            self._libraries = self._instance.feature(Scripting).new_libraries(codes)
        except ReplyError as error:
            reason = error.text.decode("latin-1")
            raise InstallationFailed(f"a library of the primary is refused: {reason}") from None

    def _stream_db(self, reader: SnapshotReader) -> int:
        number = as_int64(reader.aux.get(b"repl-stream-db", b"0"))
        return number if number is not None and 0 <= number < len(self._instance.databases) else 0

    def _replace_data(self, databases: list[Database]) -> None:
        """Swap in the new data; signal blocked clients, and invalidate watches and caches."""
        instance = self._instance
        if self._libraries is not None:
            instance.feature(Scripting).libraries = self._libraries
        for db, new in zip(instance.databases, databases, strict=True):
            db.swap_content(new)
            new.clear()
        instance.ready_keys.signal_all(instance.databases)
        instance.entry_cache.clear()
        instance.feature(Watchers).fail_all()
        instance.feature(TrackingTable).invalidate_all()
        instance.feature(PolicyTimer).begin()
