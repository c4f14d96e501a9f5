"""The forked child process that saves a snapshot or rewrites the append-only file.

There is one at a time. A fork keeps the data as they were at that moment (copy on write): the
operating system copies a page of memory when either process writes to it. `ForkedChildren` forks;
tests run the task at once, in the same process, and decide when it ends
(server/inprocess/children.py).

The child has no event loop, no garbage collection, no descriptors but the standard ones and its
pipe, and the default signal handlers. So SIGUSR1 ends it at any moment: that is how the server
cancels it, which as in Redis is no failure. It ignores SIGINT, which a terminal sends to both. It
leaves by `os._exit`, so that nothing of the server is torn down in it.

Its result is its exit status. The pipe carries progress, and the reason of a failure.

Source: Redis 7.2, for the reports, the signal and the exit.
"""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Callable
from time import monotonic, perf_counter_ns
from typing import NoReturn, Protocol

from commands.core.instance import Instance
from commands.core.server_state import PersistenceState
from commands.server.latency import LatencyMonitor
from protocol.records import frozen_record
from server.persistence.files import Files

CALLED_OFF = signal.SIGUSR1
# The child computes for seconds. If processors are scarce, the server's clients come first.
NICENESS = 10
# At most one report a second; measuring memory for it takes at most 1% of the time.
_REPORT_SECONDS = 1.0
_REPORT_SHARE = 100


class Child(Protocol):
    """The child process, as its task sees it."""

    pid: int
    files: Files

    def report(self, keys: int) -> None:
        """Tell the server how many keys are done."""

    def has_server(self) -> bool:
        """Return True if its server still runs; an orphan must not put a file in place."""


Task = Callable[[Child], None]


@frozen_record
class Progress:
    """The child's last report of its progress."""

    keys: int = 0
    copied_bytes: int = 0  # memory no longer shared with the server (copy on write)


@frozen_record
class Ending:
    """The ending of a child. Without a signal and an error it has succeeded."""

    pid: int
    signal: int = 0  # that killed it
    error: str = ""  # why it failed
    progress: Progress = Progress()

    @property
    def succeeded(self) -> bool:
        """True if the task is complete."""
        return not self.signal and not self.error

    @property
    def was_called_off(self) -> bool:
        """True if the server has killed it on purpose, which is no failure."""
        return self.signal == CALLED_OFF


class Children(Protocol):
    """At most one child."""

    progress: Progress  # of the running child
    fork_us: int  # how long the last fork blocked the server

    def start(self, task: Task, keep: int = -1) -> int:
        """Run `task` in a child; returns its process ID. None may run already. Raises OSError.

        `keep`: a descriptor that the child keeps open.
        """

    def poll(self) -> Ending | None:
        """Read its reports; returns its ending, once, if it has ended."""

    def kill(self) -> Ending:
        """Kill the child and wait for its end."""


def start_child(instance: Instance, children: Children, task: Task, keep: int = -1) -> int:
    """Start a child; records INFO figures and the latency event `fork`. Raises OSError."""
    pid = children.start(task, keep)
    instance.stats.forks += 1
    instance.stats.latest_fork_us = children.fork_us
    fork_ms, threshold_ms = children.fork_us // 1000, instance.config.latency_monitor_threshold
    if threshold_ms and fork_ms >= threshold_ms:
        instance.feature(LatencyMonitor).sample(b"fork", fork_ms, instance.now_ms)
    state = instance.persistence
    state.child_keys_total = sum(map(len, instance.databases))
    note_progress(state, Progress(), instance.monotonic_ms)
    state.child_copied_peak_bytes = 0
    return pid


def note_progress(state: PersistenceState, progress: Progress, monotonic_ms: int) -> None:
    """Copy the running child's progress into the state that INFO shows."""
    if progress.copied_bytes != state.child_copied_bytes:
        state.child_copied_at_ms = monotonic_ms
    state.child_keys_processed = progress.keys
    state.child_copied_bytes = progress.copied_bytes
    state.child_copied_peak_bytes = max(state.child_copied_peak_bytes, progress.copied_bytes)


class ForkedChildren:
    """`Children` by fork(2)."""

    def __init__(self, files: Files, prepare: Callable[[], None] = lambda: None) -> None:
        """`prepare` is called in each child before its task."""
        self._prepare = prepare
        self.progress = Progress()
        self.fork_us = 0
        self._files = files
        self._pid = 0
        self._pipe = -1
        self._unread = b""  # the beginning of a report
        self._error = ""

    def start(self, task: Task, keep: int = -1) -> int:
        """Fork a child that runs `task`; returns its process ID. Raises OSError."""
        assert not self._pid, "one child at a time"
        reading, writing = os.pipe()
        server_pid, start_ns = os.getpid(), perf_counter_ns()
        try:
            pid = os.fork()
        except OSError:
            os.close(reading)
            os.close(writing)
            raise
        if not pid:
            self._prepare()
            _live(task, {writing, keep}, writing, self._files, server_pid)
        self.fork_us = (perf_counter_ns() - start_ns) // 1000
        os.close(writing)
        os.set_blocking(reading, False)
        self._pid, self._pipe = pid, reading
        self._unread, self._error, self.progress = b"", "", Progress()
        return pid

    def poll(self) -> Ending | None:
        """Read the child's reports; returns its ending, once, if it has ended."""
        if not self._pid:
            return None
        self._read_reports()
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        return self._ended(status) if pid else None

    def kill(self) -> Ending:
        """Kill the child and wait for its end."""
        assert self._pid, "there is no child"
        os.kill(self._pid, CALLED_OFF)
        return self._ended(os.waitpid(self._pid, 0)[1])

    def _ended(self, status: int) -> Ending:
        self._read_reports()
        os.close(self._pipe)
        pid, self._pid = self._pid, 0
        if os.WIFSIGNALED(status):
            return Ending(pid, signal=os.WTERMSIG(status), progress=self.progress)
        error = "" if status == 0 else self._error or f"exit status {os.WEXITSTATUS(status)}"
        return Ending(pid, error=error, progress=self.progress)

    def _read_reports(self) -> None:
        while True:
            try:
                data = os.read(self._pipe, 65536)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self._unread = (self._unread + data).split(b"\n")
            for line in lines:
                self._take_report(line)

    def _take_report(self, line: bytes) -> None:
        kind, _, text = line.partition(b" ")
        if kind == b"failed":
            self._error = text.decode("unicode_escape")
        else:
            keys, copied_bytes = text.split()
            self.progress = Progress(int(keys), int(copied_bytes))


class ForkedChild:
    """`Child` in a process of its own; `pipe` leads to the server."""

    def __init__(self, pipe: int, files: Files, server_pid: int) -> None:
        self.pid = os.getpid()
        self.files = files
        self._pipe = pipe
        self._server_pid = server_pid
        self._keys = 0
        self._next_report_s = 0.0

    def report(self, keys: int) -> None:
        """Note the number of keys done, and report it to the server at most once a second."""
        self._keys = keys
        now_s = monotonic()
        if now_s >= self._next_report_s:
            self.report_now()
            cost_s = monotonic() - now_s
            self._next_report_s = now_s + max(_REPORT_SECONDS, _REPORT_SHARE * cost_s)

    def report_now(self) -> None:
        """Send a line to the server."""
        os.write(self._pipe, b"keys %d %d\n" % (self._keys, _copied_bytes()))

    def report_failure(self, error: BaseException) -> None:
        """Send why the task failed; for a bug, with the traceback."""
        known = isinstance(error, OSError)
        text = str(error) if known else "".join(traceback.format_exception(error))
        os.write(self._pipe, b"failed %b\n" % text.encode("unicode_escape"))

    def has_server(self) -> bool:
        """Return True if the parent process is still the server."""
        return os.getppid() == self._server_pid


def _live(task: Task, kept: set[int], pipe: int, files: Files, server_pid: int) -> NoReturn:
    """Run in the child: the task, then the exit."""
    status = 1
    try:
        # A collection writes to every object that it visits, so every page would be copied. (In the
        # server it only visits new objects, see server/loop/service.py.)
        gc.disable()
        os.nice(NICENESS)
        _forget_the_server(kept)
        child = ForkedChild(pipe, files, server_pid)
        try:
            task(child)
            child.report_now()
            status = 0
        except BaseException as error:
            child.report_failure(error)
    finally:
        os._exit(status)


def _forget_the_server(kept: set[int]) -> None:
    """Reset the signal handlers, and close the server's descriptors.

    A connection that the server closes stays open for the peer as long as the child has it open.
    """
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, CALLED_OFF):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in os.listdir("/dev/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in kept:
            # closerange ignores errors: the descriptor may have been that of the listing itself.
            os.closerange(descriptor, descriptor + 1)


def _copied_bytes() -> int:
    """Memory that is private to this process: the pages copied since the fork."""
    try:
        with open("/proc/self/smaps_rollup", "rb") as lines:
            return sum(
                int(line.split()[1]) * 1024 for line in lines if line[:13] == b"Private_Dirty"
            )
    except OSError:
        return 0  # only Linux has this file
