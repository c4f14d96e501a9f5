"""The two that are compared: which program runs on which cores, and the server that cases share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.cases.setting import Scale, Setting
from benchmarks.machine import Cores
from benchmarks.servers import Program, Server


@dataclass
class Contender:
    """A program, the cores on which it is measured, and its server of the present setting."""

    program: Program
    cores: Cores
    is_ours: bool
    _shared: tuple[Setting, Server] | None = None

    def start(self, *directives: str, alone: bool = True) -> Server:
        """A server that answers. `alone` keeps it, and children that save, on one core."""
        core_set = {self.cores.server} if alone else {self.cores.server, self.cores.load}
        return Server(self.program, core_set, directives)

    def shared(self, setting: Setting, scale: Scale) -> Server:
        """The server of a setting, prepared. That of another setting ends."""
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
        """End the server that cases share, if there is one."""
        if self._shared:
            self._shared[1].end()
            self._shared = None


def end_shared(contenders: Sequence[Contender]) -> None:
    """End the servers that cases share."""
    for contender in contenders:
        contender.end_shared()


@contextmanager
def ending_shared(contenders: Sequence[Contender]) -> Iterator[None]:
    """Whatever happens within, no server is left behind."""
    try:
        yield
    finally:
        end_shared(contenders)
