"""The file of the audit trail (`audit-log`): whole lines, in the order of the events.

Lines are written once in each cycle of the event loop, before its replies leave: what a client was
answered is in the file, also after the process was killed. They are not synced: a power failure may
lose the last ones. The log follows its name, once a second: after logrotate has renamed the file,
it goes on in a new one.

If the file cannot be written, lines are kept, up to MOST_KEPT_BYTES, and written once it can. The
others are missed, and counted; the numbers of lines show where. With `audit-required yes` commands
that administer the server are refused meanwhile (GATE_AUDIT).

A process that is killed in the middle of a write leaves a part of a line: the next one to open the
file removes it. Its request was never answered.

Leaves out: what has a line, and what is in it (commands/server/audit.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from commands.core.gates import GATE_AUDIT
from commands.core.instance import Instance
from commands.server.audit import AuditTrail
from server.persistence.files import File, Files

MOST_KEPT_BYTES = 1024 * 1024
# How often the name is looked at.
FOLLOW_MS = 1000


class AuditLog:
    """The audit log of one server. `wake` schedules the end of a cycle."""

    def __init__(
        self, instance: Instance, files: Files, path: str, wake: Callable[[], None]
    ) -> None:
        self._instance = instance
        self._files = files
        self._path = path
        self._wake = wake
        self._file: File | None = None
        self._new: list[bytes] = []  # lines
        self._kept = b""  # what could not be written
        self._looked_ms = instance.monotonic_ms
        self._is_stopped = False
        self.trail = instance.feature(AuditTrail)
        self.trail.write = self._add
        self.trail.is_used = True

    def open(self) -> None:
        """Open the file, and begin to record. Raises OSError."""
        self._file = self._open()
        self.trail.look_up()

    def apply_config(self) -> None:
        """`audit-events` or `audit-required` has changed."""
        self.trail.look_up()
        self._set_gate()

    def tick(self) -> None:
        """Several times a second: follow the name, and try again to write what is kept."""
        monotonic_ms = self._instance.monotonic_ms
        if monotonic_ms - self._looked_ms >= FOLLOW_MS:
            self._looked_ms = monotonic_ms
            self._follow_name()
        self.flush()

    def flush(self) -> None:
        """Write all lines: at the end of a cycle, before its output leaves."""
        data = self._kept + b"".join(self._new)
        self._new.clear()
        if not data:
            return
        written, error = self._write(data)
        if error is not None:
            self._failed(data[written:], error)
            return
        self._kept = b""
        if self.trail.is_failing:
            self._instance.host.log("notice", "The audit log can be written again.")
            self.trail.is_failing = False
            self._set_gate()

    def stop(self) -> None:
        """The server ends, and no cycle does: write each further line at once."""
        self._is_stopped = True
        self.flush()

    def _add(self, line: bytes) -> None:
        self._new.append(line)
        if self._is_stopped:
            self.flush()
        elif len(self._new) == 1:
            self._wake()

    def _write(self, data: bytes) -> tuple[int, OSError | None]:
        """Write as much as the disk takes, of whole lines; return how much, and what went wrong."""
        assert self._file is not None
        written = 0
        try:
            while written < len(data):
                written += self._file.write(data[written:] if written else data)
        except OSError as error:
            whole = data.rfind(b"\n", 0, written) + 1
            if whole < written:
                # Without that, and after the next write, it is a whole line all the same.
                with contextlib.suppress(OSError):
                    self._file.truncate(self._file.size() - (written - whole))
                    written = whole
            return written, error
        return written, None

    def _failed(self, data: bytes, error: OSError) -> None:
        """Keep lines for later, as far as there is room."""
        kept = data
        if len(data) > MOST_KEPT_BYTES:
            kept = data[: data.rfind(b"\n", 0, MOST_KEPT_BYTES) + 1]
            self.trail.missed += data.count(b"\n", len(kept))
        self._kept = kept
        text = f"The audit log cannot be written: {error.strerror or error}"
        self._instance.host.log_bounded("warning", "audit log", text)
        self.trail.is_failing = True
        self._set_gate()

    def _set_gate(self) -> None:
        is_shut = self.trail.is_failing and self._instance.config.audit_required
        self._instance.set_gate(GATE_AUDIT, is_shut=is_shut)

    # -- the file ------------------------------------------------------------------------------

    def _open(self) -> File:
        """Open the file without the part of a line that a killed process has left."""
        file = self._files.append(self._path)
        try:
            size = file.size()
            content = self._files.buffer(self._path) if size else b""
            torn = size - (content.rfind(b"\n", 0, size) + 1)
            if torn:
                file.truncate(size - torn)
                text = f"Removed the part of a line at the end of the audit log: {torn} bytes"
                self._instance.host.log("notice", text)
        except OSError:
            file.close()
            raise
        return file

    def _follow_name(self) -> None:
        """Open the file that the name leads to now; if that fails, stay with the old one."""
        old = self._file
        if old is None or self._files.leads_to(self._path, old):
            return
        self.flush()
        with contextlib.suppress(OSError):
            self._file = self._open()
            old.close()
