"""Where propagated requests go: the append-only file, replicas, whoever looks on in a test.

A unit is the requests of one action, which count together: a single request, or several between
MULTI and EXEC. Runs of units of one request each may come encoded, as they stand in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import hiredis

if TYPE_CHECKING:
    from commands.registry import Argv


@dataclass(frozen=True)
class Sink:
    """`append(db_index, unit)` takes a unit.

    `append_encoded(db_index, wire)` takes many that are encoded; without it they come one by one.
    """

    append: Callable[[int, list[Argv]], None]
    append_encoded: Callable[[int, bytes], None] | None = None

    def take(self, db_index: int, wire: bytes) -> None:
        """Units of one request each, encoded as RESP."""
        if self.append_encoded is not None:
            self.append_encoded(db_index, wire)
            return
        reader = hiredis.Reader()
        reader.feed(wire)
        while (request := reader.gets()) is not False:
            self.append(db_index, [request])
