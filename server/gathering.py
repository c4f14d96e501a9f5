"""Requests that are taken as a whole although each came alone, from clients of their own.

Many producers that each wait for their reply send together what one of them would send as a
pipeline. So an XADD that came alone is not run at once: it waits for others that come in the same
cycle of the loop, and they run as a run does (commands/streams/add_run.py).

Nobody can tell. Replies leave at the end of the cycle in any case. Requests run in the order in
which they came: whatever else is to be done, another request or the end of a connection, has first
that done which was gathered (`run`). What turns out to be no run is done one by one.

Left out: clients of which something is held back or that are not plain, requests of more than
`SINGLE_BYTES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from commands.registry import Argv
from commands.streams.add_run import find_run_end
from protocol.request_runs import MIN_REQUESTS, join_run
from protocol.requests import SINGLE_BYTES
from server.session import Session

if TYPE_CHECKING:
    from server.cycle import Cycle

# How a request begins, but for the digits of its first line.
_XADD_STARTS = (b"\r\n$4\r\nXADD\r\n", b"\r\n$4\r\nxadd\r\n")


class Gathering:
    """What has come in this cycle and has not run yet."""

    def __init__(self, cycle: Cycle, now_ms: Callable[[], int]) -> None:
        self._cycle = cycle
        self._now_ms = now_ms
        self._sessions: list[Session] = []
        self._requests: list[bytes] = []

    def take(self, session: Session, data: bytes) -> bool:
        """Whether the request that these bytes seem to be is kept until `run`."""
        if not session.comes_alone or len(data) > SINGLE_BYTES or session.client.closed:
            return False
        if not data.startswith(_XADD_STARTS, 2) and not data.startswith(_XADD_STARTS, 3):
            return False
        if not self._sessions:
            self._cycle.wake()
        self._sessions.append(session)
        self._requests.append(data)
        return True

    def run(self) -> None:
        """Do what was gathered."""
        sessions, requests = self._sessions, self._requests
        if not sessions:
            return
        self._sessions, self._requests = [], []
        cycle = self._cycle
        if cycle.is_stopped:
            return
        stats = cycle.dispatcher.instance.stats
        stats.reads_processed += len(requests)
        stats.net_input_bytes += sum(map(len, requests))
        if len(requests) < MIN_REQUESTS or not self._run_together(sessions, requests):
            for session, data in zip(sessions, requests, strict=True):
                cycle.dispatcher.start_batch(self._now_ms())
                session.receive(data)
                cycle.touch(session.client)

    def _run_together(self, sessions: list[Session], requests: list[bytes]) -> bool:
        """Run requests that are a run by their bytes or by their words. False: nothing is done."""
        dispatcher = self._cycle.dispatcher
        dispatcher.start_batch(self._now_ms())
        clients = [session.client for session in sessions]
        run = join_run(requests, *sessions[-1].reader.usual)
        if run is None or not dispatcher.execute_gathered(clients, run):
            argvs = _read_each(sessions, requests)
            if argvs is None:
                return False
            is_run = find_run_end(argvs, 0) == len(argvs)
            if not is_run or not dispatcher.execute_gathered(clients, argvs):
                self._run_read(sessions, argvs)
        self._cycle.touch_all(clients)
        return True

    def _run_read(self, sessions: list[Session], argvs: list[Argv]) -> None:
        """Run requests that are read already one by one."""
        for session, argv in zip(sessions, argvs, strict=True):
            self._cycle.dispatcher.start_batch(self._now_ms())
            session.run_alone(argv)


def _read_each(sessions: list[Session], requests: list[bytes]) -> list[Argv] | None:
    """The words of each; None if one of them is no whole request by itself."""
    argvs: list[Argv] = []
    for session, data in zip(sessions, requests, strict=True):
        argv = session.reader.take_single(data)
        if argv is None:
            return None
        argvs.append(argv)
    return argvs
