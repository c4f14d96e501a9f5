"""A benchmark case: rows of the table, and the measurement of one server for them.

A case opens a session for each server. Both sessions are open while their measurements alternate;
each is prepared once, and each measurement leaves its server unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from benchmarks.contenders import Contender, Scale
from benchmarks.figures import Figure, Row

Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Session:
    """A server that is ready to be measured.

    reply: its reply to the case's requests, if both servers must have the same.
    """

    measure: Callable[[], Figures]
    reply: bytes | None = None


SessionOpener = Callable[[Contender, Scale], AbstractContextManager[Session]]


@dataclass(frozen=True)
class Case:
    """Rows that are measured together.

    is_quick: `--quick` measures it even if it is not chosen by name.
    most_pairs: a limit for cases that take long and vary little.
    since: the first version of Redis that supports it.
    is_shared: its server may be shared with the previous and the next case.
    """

    name: str
    rows: tuple[Row, ...]
    open: SessionOpener
    is_quick: bool = False
    has_warm_up: bool = True
    most_pairs: int | None = None
    since: tuple[int, ...] = ()
    is_shared: bool = False

    def pairs(self, scale: Scale) -> int:
        return scale.pairs if self.most_pairs is None else min(self.most_pairs, scale.pairs)
