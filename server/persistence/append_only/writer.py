"""Writes the append-only file: buffering, group commit, syncing, and disk errors.

A sink: `take` buffers what the commands of a loop cycle propagate. `flush` writes the buffer to the
open file, and syncs it according to `appendfsync`:

always     one write and one sync for all requests of the cycle, before the replies are sent: a
           received reply means that the change is on disk. If that fails, the process ends.
everysec   written before the replies are sent, synced once a second in a background thread. While
           it syncs, writes are put off for up to two seconds, because they could block the loop.
no         written before the replies are sent; the operating system decides when to sync.

The file always ends with a complete unit (a request, or MULTI ... EXEC): a partial write is
truncated again, and its bytes stay in the buffer until a later write succeeds. Meanwhile
`PersistenceState.write_error` says why, and writes are refused (MISCONF).

A failed background sync is an error of the same kind, and is tried again every second. But after a
failed fsync Linux marks the pages clean, so a later successful sync does not prove that the earlier
data is on disk. Therefore units count as synced (`synced_units`) only after a rewrite has replaced
them by a new base (`trust`); `wants_rewrite` requests one. Redis trusts the later sync.

Leaves out: which file is written, and its place in the manifest (append_only_file.py).

Source: redis-server 7.0.15 for behaviour, messages and formats, where not said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import cython

from commands.core.instance import Instance
from commands.core.propagation import Propagation
from server.clock import has_passed
from server.persistence.append_only.directory import Job, Syncer
from server.persistence.files import File
from storage.append_only.requests import select_request, timestamp_annotation

SYNC_INTERVAL_MS = 1000
_SYNC_INTERVAL_MS: cython.long = SYNC_INTERVAL_MS
MAX_POSTPONED_MS = 2000
ERROR_LOG_INTERVAL_MS = 30_000
NO_DATABASE = -1


@cython.cclass
class AppendOnlyWriter:
    """The writer of one instance. Runs in the loop's thread, except jobs of the syncer.

    `fatal` and `on_health`: see `AppendOnlyFile`.
    """

    def __init__(
        self,
        instance: Instance,
        syncer: Syncer,
        fatal: Callable[[str], NoReturn],
        on_health: Callable[[], object],
    ) -> None:
        self.synced_units = 0  # of instance.propagation.units: those known to be on disk
        # Whether `appendfsync` applies; not before there is a first base.
        self.keeps_its_word = False
        self.file_bytes = 0  # written bytes of the file; the buffer comes after them
        self.earlier_bytes = 0  # total size of the files before it
        self._instance = instance
        self._propagation: Propagation = instance.propagation
        self._config = instance.config
        self._state = instance.persistence
        self._syncer = syncer
        self._fatal = fatal
        self._on_health = on_health
        # what is not written yet
        self._buffer: list[bytes] = []
        self._counted_parts = 0  # of the buffer: those in PersistenceState.buffer_bytes
        self._selected_db = NO_DATABASE  # by what was appended last
        self._annotated_s = 0  # the time of the last annotation
        # the open file
        self._file: File | None = None
        self._has_unsynced = False
        self._postponed_since_ms: int | None = None
        # background syncs
        self._syncs: list[_Sync] = []  # not done yet, oldest first
        self._last_sync_ms = 0
        self._rotations = 0
        self._damaged_until_rotation = -1  # the number of rotations when a sync failed last
        self._doubtful_units = 0  # would count as synced if no sync had failed
        # errors
        self._write_error = self._sync_error = ""
        self._error_logged_ms: int | None = None

    # -- files come and go ---------------------------------------------------------------------

    def begin(self, file: File, file_bytes: int, earlier_bytes: int) -> None:
        """Append to this file, after its `file_bytes`, which are synced."""
        assert self._file is None
        self._last_sync_ms = self._instance.monotonic_ms
        self.earlier_bytes = earlier_bytes
        self._go_on_in(file, file_bytes)

    def write_out(self) -> None:
        """Write the buffer, before another file is begun. Raises OSError."""
        self._propagation.hand_over()
        monotonic_ms = self._instance.monotonic_ms
        if self._config.appendfsync == "always":
            self._flush_always(monotonic_ms)
            return
        error = self._try_to_write(monotonic_ms)
        if error is not None:
            raise error

    def rotate(self, file: File) -> None:
        """Switch to an empty file; `write_out` was called before.

        The old one is synced in the background, and closed.
        """
        old = self._file
        assert old is not None and not self._buffer
        if self._has_unsynced or self._syncs:
            self._submit_sync(_sync_and_close(old), self._instance.monotonic_ms)
        else:
            old.close()
        self.earlier_bytes += self.file_bytes
        self._go_on_in(file, 0)

    def _go_on_in(self, file: File, file_bytes: int) -> None:
        self._file = file
        self.file_bytes = file_bytes
        self._rotations += 1
        self._selected_db = NO_DATABASE
        self._annotated_s = 0
        self._update_figures()

    def bring_to_disk(self) -> None:
        """Write and sync everything, now. Raises OSError."""
        self._propagation.hand_over()
        assert self._file is not None
        self._write(self._file)
        self._file.sync()
        self._has_unsynced = False
        self._last_sync_ms = self._instance.monotonic_ms
        self._set_errors("", "")

    def sync(self) -> None:
        """`bring_to_disk`, after the syncs in the background; counts what is synced then."""
        self._wait_for_syncs(self._instance.monotonic_ms)
        self.bring_to_disk()
        self._count_synced(self._propagation.units)

    def close(self) -> None:
        """`sync`, and accept no more. Raises OSError; it is closed in any case."""
        try:
            self.sync()
        finally:
            self.drop()

    def drop(self) -> None:
        """Accept no more requests, and drop the buffer."""
        file, self._file = self._file, None
        assert file is not None
        file.close()
        self._buffer.clear()
        self.keeps_its_word = False
        self._has_unsynced = False
        self._postponed_since_ms = None
        self.file_bytes = self.earlier_bytes = 0
        self._set_errors("", "")
        self._update_figures()

    # -- appending -----------------------------------------------------------------------------

    def take(self, wire: bytes, last_db: int) -> None:
        """Buffer a batch of units; `last_db` is the database that it leaves selected."""
        self._buffer.append(wire)
        self._selected_db = last_db

    def begin_batch(self, db_index: int) -> None:
        """Buffer what has to come before a batch that begins in a database."""
        if self._config.aof_timestamp_enabled:
            self._annotate()
        if db_index != self._selected_db:
            self._buffer.append(select_request(db_index))
            self._selected_db = db_index

    def _annotate(self) -> None:
        """Add a time annotation before the first unit of each second."""
        now_s = self._instance.now_ms // 1000
        if now_s > self._annotated_s:
            self._annotated_s = now_s
            self._buffer.append(timestamp_annotation(now_s))

    @property
    def buffer_bytes(self) -> int:
        """Bytes that are not yet written."""
        return sum(map(len, self._buffer))

    # -- flushing ------------------------------------------------------------------------------

    def flush(self, monotonic_ms: cython.long, force: bool = False) -> None:
        """Write and sync according to `appendfsync`; see the module. Does not raise OSError.

        `force`: write at once, even if a running sync may block the write (DEBUG LOADAOF).
        """
        self._propagation.hand_over()
        if self._syncs:
            self._reap(monotonic_ms)
        if not self._buffer and not self._has_unsynced:
            units = self._propagation.units
            if self.keeps_its_word and self.synced_units != units and not self._syncs:
                self._count_synced(units)  # the file gets nothing of the newest, as of a PUBLISH
            return
        assert self._file is not None
        if not self.keeps_its_word:
            self._try_to_write(monotonic_ms)
        elif self._config.appendfsync == "always":
            self._flush_always(monotonic_ms)
        else:
            if self._buffer:
                if force or not self._must_postpone(monotonic_ms):
                    self._try_to_write(monotonic_ms)
                else:
                    self._count_postponed()
            if self._config.appendfsync == "everysec":
                self._sync_when_due(monotonic_ms)
            elif self._sync_error:
                self._set_errors(self._write_error, "")  # the policy needs no syncs any more

    def write_early(self, monotonic_ms: int) -> None:
        """Write the buffer within a cycle, unless that may block. A sync comes at its end only."""
        if self.keeps_its_word and self._config.appendfsync == "always" and not self._syncs:
            self._propagation.hand_over()
            assert self._file is not None
            self._write_always(self._file)
        else:
            self.flush(monotonic_ms)

    def _write_always(self, file: File) -> None:
        if self._buffer:
            try:
                self._write(file)
            except OSError as error:
                self._fatal(
                    f"Error writing to the AOF file: {reason(error)}. Can't recover from AOF "
                    "write error when the AOF fsync policy is 'always'. Exiting..."
                )

    def _flush_always(self, monotonic_ms: int) -> None:
        assert self._file is not None
        if self._syncs:
            self._wait_for_syncs(monotonic_ms)  # the policy was another one until now
        self._write_always(self._file)
        if self._syncing_is_off():
            return
        try:
            self._file.sync()
        except OSError as error:
            self._fatal(
                "Can't persist AOF for fsync error when the AOF fsync policy is 'always': "
                f"{reason(error)}. Exiting..."
            )
        self._has_unsynced = False
        self._last_sync_ms = monotonic_ms
        self._set_errors("", "")
        self._count_synced(self._propagation.units)

    @cython.cfunc
    def _must_postpone(self, monotonic_ms: cython.long) -> bool:
        """Return True to wait for a running sync, because a write could block until it is done.

        Waiting also keeps a file from reaching the disk before the previous one.
        """
        if not self._syncs:
            self._postponed_since_ms = None
            return False
        if self._postponed_since_ms is None:
            self._postponed_since_ms = monotonic_ms
        if not has_passed(MAX_POSTPONED_MS, self._postponed_since_ms, monotonic_ms):
            return True
        self._state.delayed_syncs += 1
        self._instance.host.log(
            "notice",
            "Asynchronous AOF fsync is taking too long (disk is busy?). Writing the AOF buffer "
            "without waiting for fsync to complete, this may slow down Rillway.",
        )
        self._postponed_since_ms = None
        return False

    def _try_to_write(self, monotonic_ms: cython.long) -> OSError | None:
        """Write the buffer; an error is logged and returned."""
        assert self._file is not None
        try:
            self._write(self._file)
        except OSError as error:
            self.log_error(f"Error writing to the AOF file: {reason(error)}", monotonic_ms)
            self._set_errors(reason(error), self._sync_error)
            return error
        if self._write_error:
            self._instance.host.log(
                "warning", "AOF write error looks solved. The server can write again."
            )
            self._set_errors("", self._sync_error)
        return None

    @cython.cfunc
    def _write(self, file: File) -> None:
        """Write the whole buffer. Raises OSError; then the file ends where it ended before."""
        buffer = self._buffer
        if not buffer:
            return
        data: bytes = buffer[0] if len(buffer) == 1 else b"".join(buffer)
        written: cython.Py_ssize_t = 0
        try:
            while written < len(data):
                written += file.write(data[written:] if written else data)
        except OSError:
            self._buffer = [data]
            if written:
                self._cut_back(file, written)
            self._update_figures()
            raise
        self._buffer.clear()
        self.file_bytes += written
        self._has_unsynced = True
        self._update_figures()

    def _cut_back(self, file: File, written: int) -> None:
        """Truncate a partial write."""
        try:
            file.truncate(self.file_bytes)
        except OSError as error:
            self._instance.host.log(
                "warning",
                "Could not remove short write from the append-only file. Rillway may refuse to "
                f"load the AOF the next time it starts. ftruncate: {reason(error)}",
            )
            # The partial write stays; the rest of the buffer will complete it.
            self._buffer = [self._buffer[0][written:]]
            self.file_bytes += written
            self._has_unsynced = True

    # -- background syncs -----------------------------------------------------------------------

    def _syncing_is_off(self) -> bool:
        """no-appendfsync-on-rewrite: leave the disk to the child."""
        return self._config.no_appendfsync_on_rewrite and (
            self._state.rewrite_in_progress or self._state.save_in_progress
        )

    @cython.cfunc
    def _sync_when_due(self, monotonic_ms: cython.long) -> None:
        is_due = monotonic_ms - self._last_sync_ms >= _SYNC_INTERVAL_MS
        if is_due and self._has_unsynced and not self._syncs and not self._syncing_is_off():
            assert self._file is not None
            self._submit_sync(self._file.sync, monotonic_ms)

    def _submit_sync(self, work: Callable[[], None], monotonic_ms: int) -> None:
        # If the buffer is not empty, only the units counted before it are in the file.
        units = 0 if self._buffer else self._propagation.units
        sync = _Sync(work, units, self._rotations)
        self._syncs.append(sync)
        self._has_unsynced = False
        self._last_sync_ms = monotonic_ms
        self._state.pending_syncs = len(self._syncs)
        self._syncer.submit(sync)

    def _wait_for_syncs(self, monotonic_ms: int) -> None:
        self._syncer.wait()
        self._reap(monotonic_ms)

    def _reap(self, monotonic_ms: int) -> None:
        """Handle the results of background syncs."""
        while self._syncs and self._syncs[0].done:
            sync = self._syncs.pop(0)
            if sync.error is None:
                self._count_synced(sync.units)
                if self._sync_error:
                    self._instance.host.log(
                        "warning", "AOF fsync error looks solved. The server can write again."
                    )
                    self._set_errors(self._write_error, "")
                continue
            self._damaged_until_rotation = sync.rotation
            self._has_unsynced = True  # so that it is tried again
            self.log_error(f"Fail to fsync the AOF file: {reason(sync.error)}", monotonic_ms)
            self._set_errors(self._write_error, reason(sync.error))
        self._state.pending_syncs = len(self._syncs)

    def _count_synced(self, units: int) -> None:
        if self.wants_rewrite:
            self._doubtful_units = max(self._doubtful_units, units)
        else:
            self.synced_units = max(self.synced_units, units)

    @property
    def wants_rewrite(self) -> bool:
        """True if a sync has failed for data that no later base replaces: see the module."""
        return self._damaged_until_rotation >= 0

    def trust(self, units: int) -> None:
        """A base holds the first `units`, so the state of older files no longer matters.

        Units count as synced again, if no sync has failed for the requests after the base.
        """
        if self._damaged_until_rotation < self._rotations:
            self._damaged_until_rotation = -1
            self._count_synced(max(units, self._doubtful_units))

    # -- health and figures --------------------------------------------------------------------

    def _set_errors(self, write_error: str, sync_error: str) -> None:
        self._write_error, self._sync_error = write_error, sync_error
        error = write_error or sync_error
        if error != self._state.write_error:
            self._state.write_error = error
            self._on_health()

    def log_error(self, message: str, monotonic_ms: int) -> None:
        """Log an error, at most every ERROR_LOG_INTERVAL_MS: a bad disk fails repeatedly."""
        logged_ms = self._error_logged_ms
        if logged_ms is None or has_passed(ERROR_LOG_INTERVAL_MS, logged_ms, monotonic_ms):
            self._error_logged_ms = monotonic_ms
            self._instance.host.log("warning", message)

    @cython.cfunc
    def _update_figures(self) -> None:
        self._state.current_bytes = self.earlier_bytes + self.file_bytes
        self._state.buffer_bytes = self.buffer_bytes if self._buffer else 0
        self._counted_parts = len(self._buffer)

    @cython.cfunc
    def _count_postponed(self) -> None:
        """Count what has come since; counting all of it in every cycle would take ever longer."""
        self._state.buffer_bytes += sum(map(len, self._buffer[self._counted_parts :]))
        self._counted_parts = len(self._buffer)


def reason(error: Exception) -> str:
    """The operating system's text for an error."""
    return getattr(error, "strerror", None) or str(error)


class _Sync(Job):
    """A background sync, and the units that it makes durable."""

    def __init__(self, work: Callable[[], None], units: int, rotation: int) -> None:
        super().__init__(work)
        self.units = units
        self.rotation = rotation


def _sync_and_close(file: File) -> Callable[[], None]:
    def work() -> None:
        try:
            file.sync()
        finally:
            file.close()

    return work
