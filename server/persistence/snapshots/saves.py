"""Snapshots (RDB files): SAVE, BGSAVE, save points, and the state of the last ones.

A snapshot is written to a temporary file, synced, and renamed atomically: after a crash at any
moment `dbfilename` is the old snapshot or the new one, and complete.

`instance.dirty` counts the changes since the last snapshot. A background snapshot that succeeds
subtracts the count at its start, so changes made meanwhile remain counted.

Source: Redis 7.2 for conditions, log lines, the delay of retries and the names of temporary files;
checked with redis-server 7.0.15.
"""

from __future__ import annotations

import contextlib
import os
import re

from commands.core.instance import Instance
from server.clock import has_passed
from server.persistence.children import Child, Children, Ending, start_child
from server.persistence.files import Files
from server.persistence.snapshots.snapshot_file import Report, write_snapshot_file

RETRY_DELAY_S = 5
# Temporary files, those of replication included (sent to replicas, or received from a primary).
_TEMPORARY = r"temp-(?:repl-|link-)?([0-9]+)(?:-[0-9]+)?\.rdb"


class Snapshots:
    """The snapshots of one instance. The caller ensures that there is one child at a time."""

    def __init__(self, instance: Instance, files: Files, children: Children) -> None:
        self._instance = instance
        self._config = instance.config
        self._state = instance.persistence
        self._files = files
        self._children = children
        self._dirty_at_start = 0  # instance.dirty when the child began

    def remove_leftovers(self) -> None:
        """Remove the temporary files of processes that no longer run."""
        with contextlib.suppress(OSError):
            for name in self._files.names("."):
                found = name.startswith("temp-") and re.fullmatch(_TEMPORARY, name)
                # This process has saved nothing yet, so a file with its own number (1 in a
                # container) is an older process's, too.
                if found and (int(found[1]) == os.getpid() or not _is_running(int(found[1]))):
                    self._discard(name)

    def discard_own(self) -> None:
        """Remove the partial file of an interrupted SAVE."""
        self._discard(_temporary(os.getpid()))

    # -- in the foreground ---------------------------------------------------------------------

    def save(self) -> bool:
        """Write a snapshot now. False, with a line in the log, if that fails."""
        self._state.saves += 1
        try:
            self._write(self._files, os.getpid(), lambda keys: None)
        except OSError as error:
            self._log("warning", f"Write error saving DB on disk: {error} (in {self._config.dir})")
            return False
        self._instance.dirty = 0
        self._log("notice", "DB saved on disk")
        self._note_success()
        return True

    def _write(self, files: Files, pid: int, report: Report) -> None:
        """Write the file and put it in place. Raises OSError."""
        self._write_beside(files, pid, report)
        self._put_in_place(files, pid)

    def _write_beside(self, files: Files, pid: int, report: Report) -> None:
        write_snapshot_file(self._instance, files, _temporary(pid), report, aof_base=False)

    def _put_in_place(self, files: Files, pid: int) -> None:
        try:
            files.rename(_temporary(pid), self._config.dbfilename)
        except OSError:
            with contextlib.suppress(OSError):
                files.remove(_temporary(pid))
            raise
        files.sync_directory(".")

    # -- in the background ---------------------------------------------------------------------

    def start(self) -> bool:
        """Start a child that writes one. False, with a line in the log, if that fails."""
        instance, state = self._instance, self._state
        state.saves += 1
        state.last_save_attempt_ms = instance.monotonic_ms
        try:
            pid = start_child(instance, self._children, self._run)
        except OSError as error:
            self._log("warning", f"Can't save in background: fork: {error.strerror}")
            self._note_failure()
            return False
        self._log("notice", f"Background saving started by pid {pid}")
        self._dirty_at_start = instance.dirty
        state.save_in_progress = True
        state.save_started_ms = instance.monotonic_ms
        return True

    def _run(self, child: Child) -> None:
        """The child's task."""
        self._write_beside(child.files, child.pid, child.report)
        if not child.has_server():
            # Another server may run by now, and have a newer snapshot.
            child.files.remove(_temporary(child.pid))
            return
        self._put_in_place(child.files, child.pid)

    def ended(self, ending: Ending) -> None:
        """Handle the end of the child."""
        state = self._state
        state.save_in_progress = False
        state.save_duration_s = (self._instance.monotonic_ms - state.save_started_ms) // 1000
        state.save_copied_bytes = ending.progress.copied_bytes
        if ending.succeeded:
            self._log("notice", "DB saved on disk")
            self._log("notice", "Background saving terminated with success")
            # DEBUG RELOAD may have set it to 0 meanwhile.
            self._instance.dirty = max(0, self._instance.dirty - self._dirty_at_start)
            self._note_success()
            return
        self._discard(_temporary(ending.pid))
        if ending.signal:
            self._log("warning", f"Background saving terminated by signal {ending.signal}")
        else:
            self._log("warning", f"Background saving error: {ending.error} (in {self._config.dir})")
        if not ending.was_called_off:
            self._note_failure()

    def call_off(self) -> None:
        """Kill the child, if one saves; that is no failure."""
        if self._state.save_in_progress:
            self.ended(self._children.kill())

    def _note_success(self) -> None:
        self._state.last_save_ms = self._instance.host.clock_us() // 1000
        self._state.saved_ms = self._instance.host.monotonic_us() // 1000
        self._state.save_succeeded = True
        self._state.save_failures = 0

    def _note_failure(self) -> None:
        self._state.save_succeeded = False
        self._state.save_failures += 1

    # -- when one is due -----------------------------------------------------------------------

    def start_when_due(self) -> bool:
        """Start if a save point is reached; returns whether a child runs now."""
        instance, state = self._instance, self._state
        for point in self._config.save:
            is_time = self._has_passed(state.saved_ms, point.seconds)
            if instance.dirty >= point.changes and is_time and self._may_retry():
                self._log(
                    "notice", f"{point.changes} changes in {point.seconds} seconds. Saving..."
                )
                return self.start()
        return False

    def start_when_scheduled(self) -> None:
        """Start a deferred snapshot: BGSAVE SCHEDULE during another child or a transaction."""
        if self._state.save_scheduled and self._may_retry() and self.start():
            self._state.save_scheduled = False

    def _may_retry(self) -> bool:
        state = self._state
        return state.save_succeeded or self._has_passed(state.last_save_attempt_ms, RETRY_DELAY_S)

    def _has_passed(self, since_ms: int, seconds: int) -> bool:
        """Return True if more than `seconds` have passed, in whole seconds as in Redis."""
        return has_passed(seconds + 1, since_ms // 1000, self._instance.monotonic_ms // 1000)

    # -- help ----------------------------------------------------------------------------------

    def _discard(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self._files.remove(path)

    def _log(self, level: str, message: str) -> None:
        self._instance.host.log(level, message)


def _temporary(pid: int) -> str:
    return f"temp-{pid}.rdb"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
