"""How far a stream was read: positions, and the offsets of a query that are made of them.

An offset of Spark is JSON, `{"orders": {"id": "1700000000000-3", "n": 1204}}`, and Spark compares
it as text. So the names are sorted and an ID is always written in the same way.

The end of a batch also says how the batch is shared among tasks. Spark keeps it in its log before
it plans the batch, and plans from it again after a crash: the tasks are then the same ones,
whatever was deleted or trimmed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rillway.pipeline.client.ids import MIN_ID, format_id, parse_id


@dataclass(frozen=True, slots=True)
class Position:
    """The last ID that is included, and how many entries were ever added up to it.

    `n` is None where that is not known: after a start by ID or time, or where entries between
    others had been deleted before they were counted. `cuts`: the IDs with which further tasks of
    the batch that ends here begin; `opens`: its first entries are a task of their own, and do not
    share the one of the stream before.
    """

    id: int = MIN_ID
    n: int | None = 0
    cuts: tuple[int, ...] = ()
    opens: bool = False

    def as_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"id": format_id(self.id)}
        if self.n is not None:
            content["n"] = self.n
        if self.cuts:
            content["cuts"] = [format_id(cut) for cut in self.cuts]
        return content | ({"opens": True} if self.opens else {})

    def alone(self) -> Position:
        """The same, of no batch."""
        return Position(self.id, self.n) if self.cuts or self.opens else self


BEGINNING = Position()

# By the stream's name. A stream that is not named was not read from yet.
Offset: TypeAlias = dict[str, Position]


def to_json(offset: Mapping[str, Position]) -> dict[str, Any]:
    """What Spark writes down; two equal offsets give the same text."""
    return {stream: offset[stream].as_json() for stream in sorted(offset)}


def from_json(value: Mapping[str, Any] | str) -> Offset:
    """Raises ValueError for what is no offset. A bare ID as a position is taken, `{"s": "5-0"}`."""
    content = json.loads(value) if isinstance(value, str) else value
    if not isinstance(content, Mapping):
        raise ValueError('expected {"stream": "ID", ...}')
    return {str(stream): _position(position) for stream, position in content.items()}


def _position(value: Any) -> Position:
    if isinstance(value, str):
        return Position(parse_id(value), None)
    if not isinstance(value, Mapping) or "id" not in value:
        raise ValueError('expected an ID or {"id": "ID", "n": NUMBER} for each stream')
    n = value.get("n")
    if n is not None and not isinstance(n, int):
        raise ValueError(f"'n' is a number of entries, not {n!r}")
    cuts = value.get("cuts", [])
    if not isinstance(cuts, list) or not all(isinstance(cut, str) for cut in cuts):
        raise ValueError(f"'cuts' are IDs, not {cuts!r}")
    opens = value.get("opens") is True
    return Position(parse_id(value["id"]), n, tuple(map(parse_id, cuts)), opens)
