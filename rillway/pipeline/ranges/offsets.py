"""Positions up to which streams were read, and the offsets of a query, which consist of them.

An offset is JSON, `{"orders": {"id": "1700000000000-3", "n": 1204}}`, and Spark compares it as
text. So the names are sorted, and an ID is always written in the same way.

The members `h`, the anchors, and `r`, the number of removed entries, prove that a stream still has
the history that was read (divergence.py). An offset that a user wrote has neither.

The end of a batch also records how the batch is shared among tasks. Spark logs it before it plans
the batch, and plans from it again after a crash: the tasks are then the same, whatever was deleted
or trimmed meanwhile. A batch that reads entries again records its own beginning, `after`, which
differs from the position that Spark passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import MIN_ID, format_id, parse_id

ANCHORS = re.compile(r"(?:\d+-\d+ \d+ [0-9a-f]+(?:,(?!$)|$))*")


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of a position, the last one first, as text: `120-0 1 9f86d081,119-0 2 60303ae2`.

    Each has its ID, its distance from the end, and its hash. The text is parsed only when needed:
    Spark passes the offsets of thousands of streams several times for each batch.
    """

    text: str = ""

    @classmethod
    def of(cls, anchors: Iterable[Anchor]) -> Anchors:
        return cls(",".join(f"{format_id(one.id)} {one.back} {one.hash}" for one in anchors))

    @property
    def last(self) -> Anchor:
        """The anchor of the last entry, which comes first in the text; there must be one."""
        return _anchor(self.text.partition(",")[0])

    def __bool__(self) -> bool:
        return bool(self.text)

    def __iter__(self) -> Iterator[Anchor]:
        return map(_anchor, self.text.split(",")) if self.text else iter(())


def _anchor(text: str) -> Anchor:
    entry_id, back, digest = text.split(" ")
    return Anchor(parse_id(entry_id), digest, int(back))


@dataclass(frozen=True, slots=True)
class Position:
    """The last included ID, and the number of entries ever added up to it.

    `n` is None if that is unknown: after a start by ID or time, or if entries were deleted before
    they were counted. `cuts`: the first IDs of further tasks of the batch that ends here; `opens`:
    its first entries are a task of their own, and do not share that of the previous stream;
    `after`: the batch reads entries after this ID again.

    `anchors`: the proof of the history; `removed`: the number of entries removed by XDEL or trims
    while the last anchor existed.
    """

    id: int = MIN_ID
    n: int | None = 0
    cuts: tuple[int, ...] = ()
    opens: bool = False
    after: int | None = None
    anchors: Anchors = Anchors()
    removed: int | None = None

    def as_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"id": format_id(self.id)}
        if self.n is not None:
            content["n"] = self.n
        if self.cuts:
            content["cuts"] = [format_id(cut) for cut in self.cuts]
        if self.opens:
            content["opens"] = True
        if self.after is not None:
            content["after"] = format_id(self.after)
        if self.anchors:
            content["h"] = self.anchors.text
        return content | ({} if self.removed is None else {"r": self.removed})

    def alone(self) -> Position:
        """Return the position without the attributes of a batch."""
        if not self.cuts and not self.opens and self.after is None:
            return self
        return replace(self, cuts=(), opens=False, after=None)


BEGINNING = Position()


def beginning(facts: StreamFacts) -> Position:
    """Return the position before all entries, counted if the first one still exists."""
    return Position(MIN_ID, 0 if not facts.trimmed else None)


# Positions by stream; a stream that is not named has not been read yet.
Offset: TypeAlias = dict[str, Position]


def to_json(offset: Mapping[str, Position]) -> dict[str, Any]:
    """Return what Spark stores as JSON; two equal offsets give the same text."""
    return {stream: offset[stream].as_json() for stream in sorted(offset)}


def from_json(value: Mapping[str, Any] | str) -> Offset:
    """Parse an offset; a position may be a bare ID, `{"s": "5-0"}`. Raises ValueError."""
    content = json.loads(value) if isinstance(value, str) else value
    if not isinstance(content, Mapping):
        raise ValueError('expected {"stream": "ID", ...}')
    return {str(stream): _position(position) for stream, position in content.items()}


def _position(value: Any) -> Position:
    if isinstance(value, str):
        return Position(parse_id(value), None)
    if not isinstance(value, Mapping) or "id" not in value:
        raise ValueError('expected an ID or {"id": "ID", "n": NUMBER} for each stream')
    n, removed = value.get("n"), value.get("r")
    for name, number in (("n", n), ("r", removed)):
        if number is not None and not isinstance(number, int):
            raise ValueError(f"'{name}' is a number of entries, not {number!r}")
    cuts = value.get("cuts", [])
    if not isinstance(cuts, list) or not all(isinstance(cut, str) for cut in cuts):
        raise ValueError(f"'cuts' are IDs, not {cuts!r}")
    after, anchors = value.get("after"), value.get("h", "")
    if not isinstance(anchors, str) or not ANCHORS.fullmatch(anchors):
        raise ValueError(f"'h' are IDs, numbers and hashes, not {anchors!r}")
    return Position(
        parse_id(value["id"]),
        n,
        cuts=tuple(map(parse_id, cuts)),
        opens=value.get("opens") is True,
        after=None if after is None else parse_id(after),
        anchors=Anchors(anchors),
        removed=removed,
    )
