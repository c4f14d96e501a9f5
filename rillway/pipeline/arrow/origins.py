"""The origins of a task's rows, that is, the entries that they come from, and the task's progress.

A repeated task finds by them where to continue, even if entries were deleted meanwhile, when a
count of written rows would be wrong. Rows must be in the order of their entries, as a read returns
them, with the rows of one entry together.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.wire.ids import MAX_SEQ, format_id, make_id, ms_of, parse_id


@dataclass(frozen=True, slots=True)
class Mark:
    """The last row that was written: its entry, and how many rows of that entry were written."""

    stream: str
    id: int
    rows: int

    def __str__(self) -> str:
        return f"{quote(self.stream, safe='')} {format_id(self.id)} {self.rows}"


def parse_mark(stream: str, entry_id: str, rows: str) -> Mark:
    """Parse the three words of a mark. Raises ValueError."""
    return Mark(unquote(stream), parse_id(entry_id), int(rows))


class Origins:
    """The entries of some rows."""

    def __init__(self, streams: pa.Array, ms: pa.Array, seq: pa.Array) -> None:
        self._streams, self._ms, self._seq = streams, ms, seq

    @classmethod
    def read(cls, streams: pa.Array, ids: pa.Array) -> Origins:
        """Parse columns of text. Raises pa.ArrowInvalid for an invalid ID, ValueError for null."""
        if streams.null_count or ids.null_count:
            raise ValueError("a row does not say which entry it comes from")
        halves = pc.split_pattern(ids, "-")
        ms, seq = (pc.list_element(halves, half).cast(pa.uint64()) for half in (0, 1))
        return cls(streams.cast(pa.binary()), ms, seq)

    def __len__(self) -> int:
        return len(self._ms)

    def slice(self, begin: int, rows: int | None = None) -> Origins:
        parts = (self._streams, self._ms, self._seq)
        return Origins(*(part.slice(begin, rows) for part in parts))

    def take(self, places: pa.Array) -> Origins:
        return Origins(*(part.take(places) for part in (self._streams, self._ms, self._seq)))

    def ascend_from(self, mark: Mark | None) -> bool:
        """Return True if the entries are in order, and none is before the mark."""
        if mark is not None and _before(self.slice(0, 1), mark)[0].as_py():
            return False
        pairs = _not_above(self.slice(0, len(self) - 1), self.slice(1))
        return bool(pc.all(pairs, min_count=0).as_py())

    def written(self, mark: Mark) -> tuple[int, int]:
        """Return how many first rows are written, and how many of them are of the mark's entry."""
        before = _leading(_before(self, mark))
        same = _leading(_same(self.slice(before), mark))
        of_mark = min(same, mark.rows)
        return before + of_mark, of_mark

    def mark_after(self, mark: Mark | None) -> Mark:
        """Return the mark after these rows, which follow those up to `mark`."""
        last = len(self) - 1
        entry_id = make_id(self._ms[last].as_py(), self._seq[last].as_py())
        here = Mark(self._streams[last].as_py().decode(), entry_id, 0)
        same = pc.sum(_same(self, here).cast(pa.int64())).as_py()
        if mark is not None and (mark.stream, mark.id) == (here.stream, here.id):
            same += mark.rows
        return Mark(here.stream, here.id, same)


def _leading(found: pa.Array) -> int:
    """Return the number of true values before the first false one."""
    place = pc.index(found, False).as_py()
    return len(found) if place < 0 else int(place)


def _scalars(mark: Mark) -> tuple[pa.Scalar, pa.Scalar, pa.Scalar]:
    return (
        pa.scalar(mark.stream.encode(), pa.binary()),
        pa.scalar(ms_of(mark.id), pa.uint64()),
        pa.scalar(mark.id & MAX_SEQ, pa.uint64()),
    )


def _before(rows: Origins, mark: Mark) -> pa.Array:
    return _less((rows._streams, rows._ms, rows._seq), _scalars(mark))


def _same(rows: Origins, mark: Mark) -> pa.Array:
    stream, ms, seq = _scalars(mark)
    entry = pc.and_(pc.equal(rows._ms, ms), pc.equal(rows._seq, seq))
    return pc.and_(pc.equal(rows._streams, stream), entry)


def _not_above(rows: Origins, others: Origins) -> pa.Array:
    later = _less((others._streams, others._ms, others._seq), (rows._streams, rows._ms, rows._seq))
    return pc.invert(later)


def _less(one: tuple[pa.Array, ...], other: tuple[pa.Array, ...]) -> pa.Array:
    """Compare by the first part, then by the second, then by the third."""
    found = pc.less(one[2], other[2])
    for place in (1, 0):
        is_equal = pc.equal(one[place], other[place])
        found = pc.or_(pc.less(one[place], other[place]), pc.and_(is_equal, found))
    return found
