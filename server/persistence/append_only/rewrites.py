"""Rewrites of the append-only file: BGREWRITEAOF, automatic ones, and the first to switch it on.

A child writes a new base of the present data; meanwhile changes go into a new increment
(append_only_file.py). The old files stay in force until the new base is complete and synced, so a
rewrite that fails loses nothing.

When the file is switched on (CONFIG SET appendonly yes), it is in force once its first base is
written. If that fails, it is retried until it succeeds or the file is switched off.

After three failures in a row, automatic rewrites wait: a minute at first, then twice as long each
time, at most an hour.

Source: Redis 7.2 for conditions, log lines and the delays.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.instance import Instance
from server.clock import has_passed
from server.persistence.append_only.append_only_file import AppendOnlyFile, Phase
from server.persistence.children import Child, Children, Ending, start_child
from server.persistence.files import Files
from server.persistence.snapshots.snapshot_file import (
    Report,
    write_requests_file,
    write_snapshot_file,
)
from storage.append_only.manifest import ManifestError

UNLIMITED_FAILURES = 3
MAX_DELAY_MIN = 60


class Rewrites:
    """The rewrites of one instance. The caller ensures that there is only one child at a time."""

    def __init__(self, instance: Instance, file: AppendOnlyFile, children: Children) -> None:
        self._instance = instance
        self._config = instance.config
        self._state = instance.persistence
        self._file = file
        self._children = children
        self._is_snapshot = True  # the base that the child writes
        self._delay_min = 0
        self._limited_since_ms: int | None = None

    # -- one rewrite ---------------------------------------------------------------------------

    def start(self) -> bool:
        """Start a child that writes a new base. False, with a line in the log, if that fails.

        To be called between two units of propagated requests, so not inside of EXEC.
        """
        file, state = self._file, self._state
        state.rewrite_scheduled = False
        self._is_snapshot = self._config.aof_use_rdb_preamble
        try:
            file.begin_rewrite()
        except (OSError, ManifestError) as error:
            self._log("warning", f"Can't rewrite append only file in background: {error}")
            self._failed()
            return False
        try:
            pid = start_child(self._instance, self._children, self._run)
        except OSError as error:
            reason = error.strerror
            self._log("warning", f"Can't rewrite append only file in background: fork: {reason}")
            file.abandon_rewrite()
            self._failed()
            return False
        self._log("notice", f"Background append only file rewriting started by pid {pid}")
        state.rewrites += 1
        state.rewrite_in_progress = True
        state.rewrite_started_ms = self._instance.monotonic_ms
        return True

    def _run(self, child: Child) -> None:
        """The child's task."""
        path = self._file.temporary_base_path
        self._write_base(child.files, path, child.report)

    def _write_base(self, files: Files, path: str, report: Report) -> None:
        if self._is_snapshot:
            write_snapshot_file(self._instance, files, path, report, aof_base=True)
        else:
            write_requests_file(self._instance, files, path, report)

    def write_first_base(self, files: Files, path: str) -> None:
        """Write a base in the server itself, at a start. Raises OSError."""
        self._is_snapshot = self._config.aof_use_rdb_preamble
        self._write_base(files, path, lambda keys: None)

    def ended(self, ending: Ending) -> None:
        """The child has ended: put its base in force, or keep the old files."""
        file, state = self._file, self._state
        state.rewrite_in_progress = False
        state.rewrite_duration_s = (self._instance.monotonic_ms - state.rewrite_started_ms) // 1000
        state.rewrite_copied_bytes = ending.progress.copied_bytes
        path = file.temporary_base_path
        if ending.succeeded:
            name = path.rpartition("/")[2]
            self._log("notice", f"Successfully created the temporary AOF base file {name}")
            self._log("notice", "Background AOF rewrite terminated with success")
            self._take_in(path)
            return
        if ending.was_called_off:
            self._log("notice", f"Killing running AOF rewrite child: {ending.pid}")
            file.abandon_rewrite(path)
            return
        if ending.signal:
            reason = f"terminated by signal {ending.signal}"
        else:
            reason = f"terminated with error: {ending.error}"
        self._log("warning", f"Background AOF rewrite {reason}")
        file.abandon_rewrite(path)
        self._failed()

    def _take_in(self, path: str) -> None:
        file, state = self._file, self._state
        try:
            file.finish_rewrite(path, is_snapshot=self._is_snapshot)
        except OSError as error:
            self._log("warning", f"Can't put the rewritten append only file in place: {error}")
            file.abandon_rewrite(path)
            self._failed()
            return
        state.rewrite_succeeded = True
        state.rewrite_failures = 0
        self._log("notice", "Background AOF rewrite finished successfully")
        if not self._config.appendonly:
            # Requested while the file is off: as in Redis it exists, but does not grow.
            self.close_file()

    def _failed(self) -> None:
        self._state.rewrite_succeeded = False
        self._state.rewrite_failures += 1
        self._schedule_until_on()

    def call_off(self) -> None:
        """Kill the child, if one rewrites; the old files stay in force."""
        if self._state.rewrite_in_progress:
            self.ended(self._children.kill())

    # -- switching the file on and off ---------------------------------------------------------

    def switch_on(self, hindrance: str = "") -> bool:
        """CONFIG SET appendonly yes: as soon as a first base is written. False if that failed.

        `hindrance`: why no child can be started at this moment, for the log; "" if one can.
        """
        if self._state.rewrite_in_progress:
            return True  # a rewrite requested while the file was off: the file will stay on
        if not hindrance:
            is_started = self.start()
            if not is_started:
                self._state.rewrite_scheduled = False  # the client gets an error and may try again
            return is_started
        self._state.rewrite_scheduled = True
        self._log(
            "notice",
            f"AOF was enabled {hindrance}. An AOF background was scheduled to start when possible.",
        )
        return True

    def switch_off(self) -> None:
        """CONFIG SET appendonly no."""
        self._state.rewrite_scheduled = False
        self.call_off()
        self._state.rewrite_scheduled = False
        self.close_file()

    def sync_file(self) -> bool:
        """Write and sync the buffer; False after a failure, which is logged."""
        return self._logging_failure(self._file.sync)

    def close_file(self) -> None:
        """Write and sync the buffer, and close the file; a failure is logged."""
        self._logging_failure(self._file.close)

    def _logging_failure(self, work: Callable[[], None]) -> bool:
        try:
            work()
        except OSError as error:
            self._log("warning", f"Fail to fsync the AOF file: {error.strerror}")
            return False
        return True

    def _schedule_until_on(self) -> None:
        if self._config.appendonly and self._file.phase is Phase.OFF:
            self._state.rewrite_scheduled = True

    # -- when one is due -----------------------------------------------------------------------

    def start_when_scheduled(self) -> None:
        """Start a deferred rewrite: BGREWRITEAOF during another child or a transaction, retries."""
        if self._state.rewrite_scheduled and not self._is_limited():
            self.start()

    def start_when_due(self) -> None:
        """Start a rewrite if the file has grown enough (auto-aof-rewrite-*), or a sync failed."""
        file, state, config = self._file, self._state, self._config
        if file.phase is not Phase.ON:
            return
        if file.wants_rewrite:
            if not self._is_limited():
                self._log("notice", "Rewriting the AOF, because a sync of it has failed")
                self.start()
            return
        percentage = config.auto_aof_rewrite_percentage
        if not percentage or state.current_bytes <= config.auto_aof_rewrite_min_size:
            return
        growth = state.current_bytes * 100 // (state.base_bytes or 1) - 100
        if growth >= percentage and not self._is_limited():
            self._log("notice", f"Starting automatic rewriting of AOF on {growth}% growth")
            self.start()

    def _is_limited(self) -> bool:
        """Return True if rewrites wait because several have failed."""
        if self._state.rewrite_failures < UNLIMITED_FAILURES:
            self._delay_min, self._limited_since_ms = 0, None
            return False
        monotonic_ms = self._instance.monotonic_ms
        if self._limited_since_ms is not None:
            if not has_passed(self._delay_min * 60_000, self._limited_since_ms, monotonic_ms):
                return True
            self._limited_since_ms = None
            return False
        self._delay_min = min(self._delay_min * 2 or 1, MAX_DELAY_MIN)
        self._limited_since_ms = monotonic_ms
        self._log(
            "warning",
            "Background AOF rewrite has repeatedly failed and triggered the limit, will retry in "
            f"{self._delay_min} minutes",
        )
        return True

    def _log(self, level: str, message: str) -> None:
        self._instance.host.log(level, message)
