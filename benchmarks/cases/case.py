"""What a case is: rows of the table, and how one server is measured for them.

A case opens a session for each server. Sessions of both live side by side while their measurements
alternate; each prepares what it needs once, and each measurement leaves the server as it found it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from benchmarks.cases.setting import Scale
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, Row

Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Session:
    """A server that is ready to be measured.

    reply: what it answers to the case's requests, where that must be the same for both servers.
    """

    measure: Callable[[], Figures]
    reply: bytes | None = None


SessionOpener = Callable[[Contender, Scale], AbstractContextManager[Session]]


@dataclass(frozen=True)
class Case:
    """Rows that are measured together.

    is_quick: `--quick` measures it even if it is not asked for by name.
    most_pairs: for what takes long and varies little.
    since: the version of Redis that has such a thing first.
    is_shared: its server may be the one that the case before had, and may stay for the next one.
    is_of_machine: it measures no server, and so only once.
    """

    name: str
    rows: tuple[Row, ...]
    open: SessionOpener
    is_quick: bool = False
    has_warm_up: bool = True
    most_pairs: int | None = None
    since: tuple[int, ...] = ()
    is_shared: bool = False
    is_of_machine: bool = False

    def pairs(self, scale: Scale) -> int:
        return scale.pairs if self.most_pairs is None else min(self.most_pairs, scale.pairs)
