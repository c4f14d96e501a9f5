"""The two contenders: their programs, cores, and servers; the scale of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import Cores
from benchmarks.servers import Program, Server


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


FULL = Scale(0.3, 5, 10_000, 1_000_000, 10_000_000, 3_000_000, 3.0)
QUICK = Scale(0.25, 3, 10_000, 100_000, 300_000, 300_000, 2.0)


@dataclass(frozen=True)
class Setting:
    """A server's directives and data. Cases of one setting share a server."""

    name: str
    directives: tuple[str, ...] = ()
    prepare: Callable[[Server, Scale], None] | None = None
    is_alone: bool = True  # pinned to one core, with children that save


EMPTY = Setting("empty")


@dataclass
class Contender:
    """A program, its cores, and its running server for the current setting."""

    program: Program
    cores: Cores
    is_ours: bool
    _shared: tuple[Setting, Server] | None = None

    def start(self, *directives: str, alone: bool = True, files: Path | None = None) -> Server:
        """A running server. `alone` pins it, and children that save, to one core."""
        core_set = {self.cores.server} if alone else {self.cores.server, self.cores.load}
        return Server(self.program, core_set, directives, files)

    def shared(self, setting: Setting, scale: Scale) -> Server:
        """The prepared server of a setting. The server of another setting is ended."""
        if self._shared and self._shared[0] == setting:
            return self._shared[1]
        self.end_shared()
        server = self.start(*setting.directives, alone=setting.is_alone)
        try:
            if setting.prepare:
                setting.prepare(server, scale)
        except BaseException:
            server.end()
            raise
        self._shared = setting, server
        return server

    def end_shared(self) -> None:
        """End the shared server, if there is one."""
        if self._shared:
            self._shared[1].end()
            self._shared = None


def end_shared(contenders: Sequence[Contender]) -> None:
    """End the shared servers."""
    for contender in contenders:
        contender.end_shared()


@contextmanager
def ending_shared(contenders: Sequence[Contender]) -> Iterator[None]:
    """End all servers after the block, even if it raises."""
    try:
        yield
    finally:
        end_shared(contenders)
