"""The append-only file: every change goes to disk as the requests that repeat it.

`append` collects what the commands of a loop cycle propagate; `flush`, called once per cycle before
any reply leaves and from the tick, writes it and syncs it as `appendfsync` says:

always     one write and one sync for all requests of the cycle, then the replies: a reply in hand
           means on disk. Where that is impossible, the process ends: it cannot keep its word.
everysec   written before the replies leave, synced once a second beside the loop. While a sync is
           running, writing waits for it up to two seconds, since the system might block the loop.
no         written before the replies leave, synced when the system likes to.

What is in the file always ends with a whole unit (a request, or MULTI ... EXEC): a write that fails
half-way is cut off again, and what it held stays in the buffer until a later one succeeds.
Meanwhile `PersistenceState.write_error` says why, and writes are refused (MISCONF).

A sync beside the loop that failed is an error of the same kind, and is tried again every second.
But Linux forgets what it could not bring to disk: that a later sync succeeds proves nothing for
what was written before. So units count as synced (`synced_units`) only after a rewrite has put a
new base in their place, and `wants_rewrite` asks for one. Redis trusts the later sync.

Rewrites: `begin_rewrite` directs what comes from now on into a new increment, right before a child
begins to write a base of what is there now; `finish_rewrite` puts that base in charge,
`abandon_rewrite` leaves the old files and all increments in charge. The same calls switch the file
on in a running server: requests are collected beside the manifest until there is a base; until then
nothing is promised.

Source: redis-server 7.0.15 for behaviour, messages and formats, where not said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NoReturn

from commands.configuration import Configuration
from commands.instance import Instance
from commands.registry import Argv
from server.clock import has_passed
from server.persistence.append_only_directory import AppendOnlyDirectory
from server.persistence.files import File, Files
from server.persistence.syncing import Job, Syncer
from storage.append_only.requests import encode_request, select_request, timestamp_annotation

SYNC_INTERVAL_MS = 1000
MAX_POSTPONED_MS = 2000
ERROR_LOG_INTERVAL_MS = 30_000
NO_DATABASE = -1


class Phase(Enum):
    """What the file is good for."""

    OFF = "nothing is taken"
    COLLECTING = "requests are collected for the first base: it is being switched on"
    ON = "all that is in the data is, or will be, in the file"


class AppendOnlyFile:
    """Of one instance. All of it runs in the loop's thread, only jobs of the syncer do not.

    `fatal(message)` ends the process with exit status 1 and does not return. `on_health` is called
    when `PersistenceState.write_error` has changed.
    """

    def __init__(
        self,
        instance: Instance,
        files: Files,
        syncer: Syncer,
        fatal: Callable[[str], NoReturn],
        on_health: Callable[[], object] = lambda: None,
    ) -> None:
        config = instance.config
        self.phase = Phase.OFF
        self.synced_units = 0  # of instance.propagated_units: so many are known to be on disk
        self.directory = self._new_directory(files, syncer, config)
        self._instance = instance
        self._config = config
        self._state = instance.persistence
        self._files = files
        self._syncer = syncer
        self._fatal = fatal
        self._on_health = on_health
        # what is not written yet
        self._buffer: list[bytes] = []
        self._selected_db = NO_DATABASE  # by what was appended last
        self._annotated_s = 0  # the time of the last annotation
        # the file at the end, the only one that is written
        self._file: File | None = None
        self._file_bytes = 0  # how much of it is written; the buffer begins there
        self._earlier_bytes = 0  # the sizes of the files before it
        self._has_unsynced = False
        self._postponed_since_ms: int | None = None
        # syncing beside the loop
        self._syncs: list[_Sync] = []  # not done yet, oldest first
        self._last_sync_ms = 0
        self._rotations = 0
        self._damaged_until_rotation = -1  # a sync failed before that many rotations
        self._doubtful_units = 0  # would be synced, were it not for that
        # errors
        self._write_error = self._sync_error = ""
        self._error_logged_ms: int | None = None
        # rewriting
        self._is_rewriting = False
        self._kept_increments = 0  # of the manifest's: what a rewrite makes superfluous
        self._rotation_units = 0

    @staticmethod
    def _new_directory(files: Files, syncer: Syncer, config: Configuration) -> AppendOnlyDirectory:
        """Where `dir` is now; a later CONFIG SET dir does not move an open file."""
        return AppendOnlyDirectory(
            files, syncer, config.dir, config.appenddirname, config.appendfilename
        )

    # -- opening and closing -------------------------------------------------------------------

    def open(self, write_base: Callable[[str], object] | None = None) -> None:
        """Go on with the files in the directory, or make them; then take requests.

        To be called after the data was loaded from them. Raises OSError and ManifestError.
        `write_base(path)` writes and syncs a base of the data as it is now; it is called if there
        are no files yet. Without it the first increment is all there is.
        """
        directory = self.directory = self._new_directory(self._files, self._syncer, self._config)
        directory.make()
        directory.read()
        # Whoever put this manifest in charge may have been killed before its name was on disk.
        self._files.sync_directory(directory.path)
        directory.remove_leftovers()
        if not directory.manifest.loaded and write_base is not None:
            self._make_first_base(write_base)
        if directory.manifest.increments:
            # A killed process may have left them unsynced, and what is in them counts from now on.
            for part in directory.manifest.increments:
                self._sync_now(directory.path_of(part))
            self._file = self._files.append(directory.path_of(directory.manifest.increments[-1]))
        else:
            self._file = directory.new_increment()
        self._file_bytes = self._file.size()
        self._earlier_bytes = directory.total_bytes() - self._file_bytes
        self._state.base_bytes = self._earlier_bytes + self._file_bytes
        self.synced_units = self._instance.propagated_units
        self._last_sync_ms = self._instance.now_ms
        self._start(Phase.ON)

    def _make_first_base(self, write_base: Callable[[str], object]) -> None:
        directory = self.directory
        path = self.temporary_base_path
        try:
            write_base(path)
            base = directory.new_base(path, is_snapshot=self._config.aof_use_rdb_preamble)
        except OSError:
            directory.discard(path)
            raise
        directory.persist(directory.manifest.rewritten(base, ()), (directory.path_of(base),))

    def _sync_now(self, path: str) -> None:
        file = self._files.append(path)
        try:
            file.sync()
        finally:
            file.close()

    def _start(self, phase: Phase) -> None:
        if self.phase is Phase.OFF:
            self._instance.sinks.append(self.append)
        self.phase = phase
        self._state.append_only = True
        self._update_figures()

    def close(self) -> None:
        """Write and sync everything, then take no more. Raises OSError if that failed.

        It is closed in any case. A rewrite that is under way must have been abandoned.
        """
        assert not self._is_rewriting
        if self.phase is Phase.OFF:
            return
        self._wait_for_syncs(self._instance.now_ms)
        file, self._file = self._file, None
        assert file is not None
        try:
            self._write(file)
            file.sync()
            self._count_synced(self._instance.propagated_units)
        finally:
            file.close()
            self._stop()

    def _stop(self) -> None:
        self._instance.sinks.remove(self.append)
        self.phase = Phase.OFF
        self._buffer.clear()
        self._selected_db = NO_DATABASE
        self._has_unsynced = False
        self._postponed_since_ms = None
        self._file_bytes = self._earlier_bytes = 0
        self._set_errors("", "")
        self._state.append_only = False
        self._update_figures()

    # -- appending -----------------------------------------------------------------------------

    def append(self, db_index: int, requests: list[Argv]) -> None:
        """A sink of `Instance`: buffer the requests of one unit."""
        buffer = self._buffer
        if self._config.aof_timestamp_enabled:
            self._annotate()
        if db_index != self._selected_db:
            buffer.append(select_request(db_index))
            self._selected_db = db_index
        if len(requests) == 1:
            buffer.append(encode_request(requests[0]))
            return
        for request in requests:
            buffer.append(encode_request(request))
            if request[0] == b"SELECT":
                self._selected_db = int(request[1])

    def _annotate(self) -> None:
        """Before the first unit of a second."""
        now_s = self._instance.now_ms // 1000
        if now_s > self._annotated_s:
            self._annotated_s = now_s
            self._buffer.append(timestamp_annotation(now_s))

    @property
    def buffer_bytes(self) -> int:
        """What waits to be written."""
        return sum(map(len, self._buffer))

    # -- flushing ------------------------------------------------------------------------------

    def flush(self, now_ms: int, *, force: bool = False) -> None:
        """Write and sync as `appendfsync` says; see the module. Does not raise OSError.

        `force`: write at once, even if that may block behind a running sync (DEBUG LOADAOF).
        """
        if self._syncs:
            self._reap(now_ms)
        if not self._buffer and not self._has_unsynced:
            return
        assert self._file is not None
        if self.phase is Phase.COLLECTING:
            self._try_to_write(now_ms)
        elif self._config.appendfsync == "always":
            self._flush_always(now_ms)
        else:
            if self._buffer and (force or not self._must_postpone(now_ms)):
                self._try_to_write(now_ms)
            if self._config.appendfsync == "everysec":
                self._sync_when_due(now_ms)
            elif self._sync_error:
                self._set_errors(self._write_error, "")  # nobody asks for syncs any more

    def maintain(self, now_ms: int) -> None:
        """From the tick: what failed or could not be done at once is tried again."""
        self.flush(now_ms)
        if self.phase is not Phase.ON:
            return
        try:
            self.directory.repair()
            self.directory.forget_removed()
        except OSError as error:
            self._log_error(f"Error writing the AOF manifest: {reason(error)}", now_ms)

    def _flush_always(self, now_ms: int) -> None:
        assert self._file is not None
        if self._syncs:
            self._wait_for_syncs(now_ms)  # the policy was another one until now
        if self._buffer:
            try:
                self._write(self._file)
            except OSError as error:
                self._fatal(
                    f"Error writing to the AOF file: {reason(error)}. Can't recover from AOF "
                    "write error when the AOF fsync policy is 'always'. Exiting..."
                )
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
        self._last_sync_ms = now_ms
        self._set_errors("", "")
        self._count_synced(self._instance.propagated_units)

    def _must_postpone(self, now_ms: int) -> bool:
        """Whether a running sync is waited for: a write could block behind it.

        It also keeps a file from reaching the disk before the one that comes before it.
        """
        if not self._syncs:
            self._postponed_since_ms = None
            return False
        if self._postponed_since_ms is None:
            self._postponed_since_ms = now_ms
        if not has_passed(MAX_POSTPONED_MS, self._postponed_since_ms, now_ms):
            return True
        self._state.delayed_syncs += 1
        self._instance.host.log(
            "notice",
            "Asynchronous AOF fsync is taking too long (disk is busy?). Writing the AOF buffer "
            "without waiting for fsync to complete, this may slow down Rillway.",
        )
        self._postponed_since_ms = None
        return False

    def _try_to_write(self, now_ms: int) -> OSError | None:
        """Write; an error is reported, and returned for whom it concerns."""
        assert self._file is not None
        try:
            self._write(self._file)
        except OSError as error:
            self._log_error(f"Error writing to the AOF file: {reason(error)}", now_ms)
            self._set_errors(reason(error), self._sync_error)
            return error
        if self._write_error:
            self._instance.host.log(
                "warning", "AOF write error looks solved. The server can write again."
            )
            self._set_errors("", self._sync_error)
        return None

    def _write(self, file: File) -> None:
        """Write the whole buffer. Raises OSError; then the file ends where it did before."""
        data = b"".join(self._buffer)
        if not data:
            return
        written = 0
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
        self._file_bytes += written
        self._has_unsynced = True
        self._update_figures()

    def _cut_back(self, file: File, written: int) -> None:
        """Take a part of a write away again."""
        try:
            file.truncate(self._file_bytes)
        except OSError as error:
            self._instance.host.log(
                "warning",
                "Could not remove short write from the append-only file. Rillway may refuse to "
                f"load the AOF the next time it starts. ftruncate: {reason(error)}",
            )
            # It stays, and the rest of the buffer will complete it.
            self._buffer = [self._buffer[0][written:]]
            self._file_bytes += written
            self._has_unsynced = True

    # -- syncing beside the loop ---------------------------------------------------------------

    def _syncing_is_off(self) -> bool:
        """no-appendfsync-on-rewrite: leave the disk to the child."""
        return self._config.no_appendfsync_on_rewrite and (
            self._state.rewrite_in_progress or self._state.save_in_progress
        )

    def _sync_when_due(self, now_ms: int) -> None:
        is_due = has_passed(SYNC_INTERVAL_MS, self._last_sync_ms, now_ms)
        if is_due and self._has_unsynced and not self._syncs and not self._syncing_is_off():
            assert self._file is not None
            self._submit_sync(self._file.sync, now_ms)

    def _submit_sync(self, work: Callable[[], None], now_ms: int) -> None:
        # With something left in the buffer the count is that of an earlier moment.
        units = 0 if self._buffer else self._instance.propagated_units
        sync = _Sync(work, units, self._rotations)
        self._syncs.append(sync)
        self._has_unsynced = False
        self._last_sync_ms = now_ms
        self._state.pending_syncs = len(self._syncs)
        self._syncer.submit(sync)

    def _wait_for_syncs(self, now_ms: int) -> None:
        self._syncer.wait()
        self._reap(now_ms)

    def _reap(self, now_ms: int) -> None:
        """See what became of syncs beside the loop."""
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
            self._log_error(f"Fail to fsync the AOF file: {reason(sync.error)}", now_ms)
            self._set_errors(self._write_error, reason(sync.error))
        self._state.pending_syncs = len(self._syncs)

    def _count_synced(self, units: int) -> None:
        if self.wants_rewrite:
            self._doubtful_units = max(self._doubtful_units, units)
        else:
            self.synced_units = max(self.synced_units, units)

    @property
    def wants_rewrite(self) -> bool:
        """Whether a sync has failed for data that no later base replaces: see the module."""
        return self._damaged_until_rotation >= 0

    # -- rewriting -----------------------------------------------------------------------------

    @property
    def temporary_base_path(self) -> str:
        """Where a child may write its base: in the directory, and removed at a start.

        A child may outlive a server that is killed, so that each run has a name of its own.
        """
        run = self._instance.run_id[:12]
        return f"{self.directory.path}/temp-{self.directory.filename}.{run}.base"

    def begin_rewrite(self) -> None:
        """What is appended from now on goes behind the base that a child will write.

        To be called between units (not inside of EXEC), right before the child starts. Raises
        OSError, and ManifestError when the file is being switched on; nothing has changed then.
        """
        assert not self._is_rewriting
        if self.phase is Phase.ON:
            self._rotate()
        else:
            self._begin_collecting()
        self._is_rewriting = True
        self._rotation_units = self._instance.propagated_units

    def _rotate(self) -> None:
        directory, now_ms = self.directory, self._instance.now_ms
        directory.repair()
        if self._config.appendfsync == "always":
            self._flush_always(now_ms)
        else:
            error = self._try_to_write(now_ms)
            if error is not None:
                raise error
        manifest = directory.manifest
        if not self._file_bytes and len(manifest.increments) > 1:
            # A rewrite that failed has left an increment, and nothing has come since.
            self._kept_increments = len(manifest.increments) - 1
            return
        increment, old = directory.new_increment(), self._file
        assert old is not None
        if self._has_unsynced or self._syncs:
            self._submit_sync(_sync_and_close(old), now_ms)
        else:
            old.close()
        self._file = increment
        self._rotations += 1
        self._earlier_bytes += self._file_bytes
        self._begin_file()
        self._kept_increments = len(manifest.increments)

    def _begin_collecting(self) -> None:
        directory = self._new_directory(self._files, self._syncer, self._config)
        directory.make()
        directory.read()
        self._file = self._files.create(directory.collecting_path())
        self.directory = directory
        self._begin_file()
        self._start(Phase.COLLECTING)

    def _begin_file(self) -> None:
        self._file_bytes = 0
        self._selected_db = NO_DATABASE
        self._annotated_s = 0
        self._update_figures()

    def finish_rewrite(self, base_path: str, *, is_snapshot: bool) -> None:
        """Put a base in charge, which is complete and synced; what it replaces is removed.

        Raises OSError: the old files are in charge as before, and `abandon_rewrite` is due.
        """
        assert self._is_rewriting
        directory = self.directory
        if self.phase is Phase.COLLECTING:
            self._finish_collecting(base_path, is_snapshot)
        else:
            base = directory.new_base(base_path, is_snapshot=is_snapshot)
            increments = directory.manifest.increments[self._kept_increments :]
            directory.persist(
                directory.manifest.rewritten(base, increments), (directory.path_of(base),)
            )
        self._is_rewriting = False
        directory.remove_history()
        self._trust_again()
        self._earlier_bytes = directory.total_bytes() - self._file_bytes
        self._update_figures()
        self._state.base_bytes = self._state.current_bytes

    def _finish_collecting(self, base_path: str, is_snapshot: bool) -> None:
        directory, file = self.directory, self._file
        assert file is not None
        self._write(file)
        file.sync()
        base = directory.new_base(base_path, is_snapshot=is_snapshot)
        increment = directory.collected_increment()
        directory.persist(
            directory.manifest.rewritten(base, (increment,)),
            (directory.path_of(base), directory.path_of(increment)),
        )
        self._has_unsynced = False
        self._last_sync_ms = self._instance.now_ms
        self._rotation_units = self._instance.propagated_units
        self._set_errors("", "")
        self._start(Phase.ON)

    def _trust_again(self) -> None:
        """The base holds everything up to the rotation, whatever became of older files."""
        if self._damaged_until_rotation < self._rotations:
            self._damaged_until_rotation = -1
            self._count_synced(max(self._rotation_units, self._doubtful_units))

    def abandon_rewrite(self, base_path: str | None = None) -> None:
        """The child has failed: the old files stay in charge, with all increments.

        When the file was being switched on, it is off again. `base_path` is removed.
        """
        if base_path is not None:
            self.directory.discard(base_path)
        if not self._is_rewriting:
            return
        self._is_rewriting = False
        if self.phase is Phase.COLLECTING:
            assert self._file is not None
            self._file.close()
            self._file = None
            self.directory.discard(self.directory.collecting_path())
            self._stop()

    # -- health and figures --------------------------------------------------------------------

    def _set_errors(self, write_error: str, sync_error: str) -> None:
        self._write_error, self._sync_error = write_error, sync_error
        error = write_error or sync_error
        if error != self._state.write_error:
            self._state.write_error = error
            self._on_health()

    def _log_error(self, message: str, now_ms: int) -> None:
        """A disk that fails does so again and again."""
        logged_ms = self._error_logged_ms
        if logged_ms is None or has_passed(ERROR_LOG_INTERVAL_MS, logged_ms, now_ms):
            self._error_logged_ms = now_ms
            self._instance.host.log("warning", message)

    def _update_figures(self) -> None:
        self._state.current_bytes = self._earlier_bytes + self._file_bytes
        self._state.buffer_bytes = self.buffer_bytes


def reason(error: Exception) -> str:
    """The system's words for what went wrong."""
    return getattr(error, "strerror", None) or str(error)


class _Sync(Job):
    """A sync, and what it brings to disk."""

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
