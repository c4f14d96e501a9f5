"""Requests of several clients that are taken as a whole.

Many producers that each wait for their reply send together what one of them would send as a
pipeline. So an XADD that came alone is not run at once: it waits for others that come in the same
cycle of the loop, and they run as a run does (commands/streams/add_run.py). So do short pipelines
of XADDs that are alike.

Nobody can tell. Replies leave at the end of the cycle in any case. Requests run in the order in
which they came: whatever else is to be done, another request or the end of a connection, has first
that done which was gathered (`run`). What turns out to be no run is done one by one. (Only the slow
log shows a run, as one entry.)

Left out: clients of which something is held back or that are not plain, long requests.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from commands.registry import Argv
from commands.streams.add_run import find_run_end
from protocol.request_runs import MIN_REQUESTS, RequestRun, TailRun, join_run
from server.session import Session

if TYPE_CHECKING:
    from server.cycle import Cycle

# Longer pipelines are runs that gain nothing from others.
MAX_BYTES = 16 * 1024
# What is gathered is run at once when there is so much of it.
MAX_GATHERED_BYTES = 64 * 1024

# How a request begins, but for the digits of its first line.
_XADD_STARTS = (b"\r\n$4\r\nXADD\r\n", b"\r\n$4\r\nxadd\r\n")


class Gathering:
    """What has come in this cycle and has not run yet."""

    def __init__(self, cycle: Cycle, now_ms: Callable[[], int]) -> None:
        self._cycle = cycle
        self._now_ms = now_ms
        self._data: dict[Session, bytes] = {}
        self._bytes = 0

    def take(self, session: Session, data: bytes) -> bool:
        """Whether the requests that these bytes seem to be are kept until `run`."""
        if not session.may_gather or len(data) > MAX_BYTES or session.client.closed:
            return False
        if not data.startswith(_XADD_STARTS, 2) and not data.startswith(_XADD_STARTS, 3):
            return False
        if session in self._data or self._bytes > MAX_GATHERED_BYTES:
            self.run()
            if not session.may_gather:
                return False
        if not self._data:
            self._cycle.wake()
        self._data[session] = data
        self._bytes += len(data)
        return True

    def run(self) -> None:
        """Do what was gathered."""
        gathered = self._data
        if not gathered:
            return
        cycle = self._cycle
        stats = cycle.dispatcher.instance.stats
        stats.reads_processed += len(gathered)
        stats.net_input_bytes += self._bytes
        self._data, self._bytes = {}, 0
        if cycle.is_stopped:
            return
        cycle.dispatcher.start_batch(self._now_ms())
        sessions, data = list(gathered), list(gathered.values())
        if len(sessions) == 1:
            sessions[0].receive(data[0])
        elif not self._run_singles(sessions, data):
            self._run_pipelines(gathered)
        cycle.touch_all([session.client for session in sessions])

    def _run_singles(self, sessions: list[Session], data: list[bytes]) -> bool:
        """Run one request of each client. False, and nothing done: they are not all single."""
        counts = [1] * len(sessions)
        if len(sessions) >= MIN_REQUESTS:
            run = join_run(data, *sessions[-1].reader.usual)
            if run is not None and self._execute(sessions, counts, run):
                return True
        argvs = _read_singles(sessions, data)
        if argvs is None:
            return False
        if find_run_end(argvs, 0) < len(argvs) or not self._execute(sessions, counts, argvs):
            for session, argv in zip(sessions, argvs, strict=True):
                if not session.client.closed:  # by what ran before
                    self._cycle.dispatcher.start_batch(self._now_ms())
                    session.run_alone(argv)
        return True

    def _run_pipelines(self, gathered: dict[Session, bytes]) -> None:
        """Run what each client sent, together with the next ones if that is alike."""
        alike: dict[Session, RequestRun] = {}
        for session, data in gathered.items():
            run, rest = session.reader.take_run(data)
            whole = run if isinstance(run, RequestRun) and not rest else None
            if alike and (whole is None or whole.words != next(iter(alike.values())).words):
                self._run_alike(alike)
                alike = {}
            if whole is not None:
                alike[session] = whole
            else:
                self._receive(session, run, rest)
        self._run_alike(alike)

    def _run_alike(self, runs: dict[Session, RequestRun]) -> None:
        """Run the runs of several clients as one, if that can be; they have the same words."""
        parts = [run.bulks for run in runs.values()]
        if len(parts) > 1:
            words = next(iter(runs.values())).words
            joined = RequestRun(words, list(chain.from_iterable(parts)))
            if self._execute(list(runs), list(map(len, parts)), joined):
                return
        for session, run in runs.items():
            self._receive(session, run, b"")

    def _receive(self, session: Session, run: RequestRun | TailRun | None, rest: bytes) -> None:
        if not session.client.closed:  # by what ran before
            self._cycle.dispatcher.start_batch(self._now_ms())
            session.receive_run(run, rest)

    def _execute(
        self, sessions: list[Session], counts: list[int], run: RequestRun | list[Argv]
    ) -> bool:
        clients = [session.client for session in sessions]
        return self._cycle.dispatcher.execute_gathered(clients, counts, run)


def _read_singles(sessions: list[Session], data: list[bytes]) -> list[Argv] | None:
    """The words of each request; None if one of them is no whole request by itself."""
    argvs: list[Argv] = []
    for session, request in zip(sessions, data, strict=True):
        argv = session.reader.take_single(request)
        if argv is None:
            return None
        argvs.append(argv)
    return argvs
