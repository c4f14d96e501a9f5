"""The two contenders: the programs, their cores, and the servers that cases share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.cases.settings import Scale, Setting
from benchmarks.machine import Cores
from benchmarks.servers import Program, Server


@dataclass
class Contender:
    """A program, its cores, and its running server for the current setting."""

    program: Program
    cores: Cores
    is_ours: bool
    _shared: tuple[Setting, Server] | None = None

    def start(self, *directives: str, alone: bool = True) -> Server:
        """A running server. `alone` pins it, and children that save, to one core."""
        core_set = {self.cores.server} if alone else {self.cores.server, self.cores.load}
        return Server(self.program, core_set, directives)

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
