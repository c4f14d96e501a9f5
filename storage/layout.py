"""What the entries of a node have in common, where they are alike.

Entries of a stream often have the same length, and differ in few places: in the last digits of
their IDs, and in short values of a fixed width. Such a node is kept as columns: for each place in
which entries differ, that byte of all entries. What is the same everywhere is there once, in a
Layout that nodes share, and so are the digits of IDs that proceed in the same steps. What remains
are the values; an entry is had from them without opening the whole node.

Guarantees: `lay_out` gives a layout only if the entries come back from it byte by byte.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from storage.entry_id import EntryID, format_id
from storage.id_columns import NodeIDs

# Opening a node costs a step for each column: it has to be worth it for so many entries, ...
MIN_ENTRIES = 16
# ... with so many columns at most, and no more than this share of an entry.
MAX_COLUMNS = 32
MAX_SHARE = 1 / 2

# How many different layouts are kept to be shared.
SHARED_LAYOUTS = 1024

# An entry begins with the header of an array of two, and that of its ID: *2 CRLF $<bytes> CRLF.
_LENGTH_OF_ID = 4


class Layout:
    """The form of entries of one length; see the module. Columns are offsets in an entry."""

    __slots__ = (
        "_digit_slices",
        "_digits",
        "_head",
        "_runs",
        "_slices",
        "_template",
        "columns",
        "ids",
        "length",
        "rest",
    )

    def __init__(
        self,
        head: bytes,
        id_bytes: int,
        rest: bytes,
        columns: tuple[int, ...],
        digit_columns: tuple[int, ...],
        digits: bytes,
    ) -> None:
        """`head` and `rest`: an entry before and behind its ID, which is `id_bytes` long.

        `columns`: where entries differ behind their IDs. `digit_columns`: where IDs differ, and
        `digits`: those of all IDs, column by column.
        """
        self.length = len(head) + id_bytes + len(rest)
        self.rest = rest
        self.columns = columns
        self.ids: NodeIDs | None = None  # of a node that begins with its key; set by who knows
        self._head = head
        self._slices = [slice(column, None, self.length) for column in columns]
        self._digit_slices = [slice(column, None, self.length) for column in digit_columns]
        self._digits = bytearray(digits)  # to assign from a bytearray takes half the time
        self._template, self._runs = _template(head, rest, columns, len(head) + id_bytes)

    def expand(self, first_id: EntryID, packed: bytes, count: int) -> bytes:
        """All `count` entries of a node, the first of which has the ID first_id.

        `packed`: the columns, one behind the other.
        """
        entries = bytearray(self._head + format_id(first_id) + self.rest) * count
        start, columns = 0, self._digits
        for target in self._digit_slices:
            entries[target] = columns[start : start + count]
            start += count
        start, columns = 0, bytearray(packed)
        for target in self._slices:
            entries[target] = columns[start : start + count]
            start += count
        return bytes(entries)

    def entry(self, entry_id: EntryID, packed: bytes, count: int, place: int) -> bytes:
        """The entry at a place, which has this ID."""
        differing = packed[place::count]
        return self._template % (format_id(entry_id), *[differing[run] for run in self._runs])


def _template(
    head: bytes, rest: bytes, columns: tuple[int, ...], rest_at: int
) -> tuple[bytes, list[slice]]:
    """An entry to fill in an ID and what differs, and the runs of columns that go into one gap."""
    template, runs = head.replace(b"%", b"%%") + b"%b", []
    end = 0  # of what is done of the rest
    for _, group in groupby(enumerate(columns), lambda item: item[1] - item[0]):
        run = list(group)
        runs.append(slice(run[0][0], run[-1][0] + 1))
        template += rest[end : run[0][1] - rest_at].replace(b"%", b"%%") + b"%b"
        end = run[-1][1] + 1 - rest_at
    return template + rest[end:].replace(b"%", b"%%"), runs


def lay_out(
    payload: bytes, ids: list[EntryID], known: Layout | None
) -> tuple[Layout, bytes] | None:
    """A layout for entries of one length, with these IDs, and their columns; None if it is no gain.

    `known`: the layout of entries before, which probably fits these as well.
    """
    count = len(ids)
    first_text, last_text = format_id(ids[0]), format_id(ids[-1])
    if count < MIN_ENTRIES or len(first_text) != len(last_text):
        return None
    length = len(payload) // count
    id_start = payload.index(b"\r\n", _LENGTH_OF_ID) + 2
    id_end = id_start + len(first_text)
    same = 0
    while first_text[same] == last_text[same]:
        same += 1
    digits = _differing(payload, length, id_start + same, id_end)
    if known is not None and known.length == length:
        rest, columns = known.rest, known.columns
    else:
        known, rest = None, payload[id_end:length]
        columns = tuple(_differing(payload, length, id_end, length))
    if len(columns) > min(MAX_COLUMNS, length * MAX_SHARE):
        return None
    layout = _layout(
        payload[:id_start],
        first_text.index(b"-"),
        len(first_text),
        rest,
        columns,
        tuple(digits),
        b"".join(digits.values()),
    )
    packed = b"".join([payload[column::length] for column in columns])
    if layout.length == length and layout.expand(ids[0], packed, count) == payload:
        return layout, packed
    return lay_out(payload, ids, None) if known is not None else None


def _differing(payload: bytes, length: int, low: int, high: int) -> dict[int, bytes]:
    """The columns from `low` to `high` in which entries of this length are not all the same."""
    columns = {column: payload[column::length] for column in range(low, high)}
    return {at: data for at, data in columns.items() if data.count(data[0]) != len(data)}


@lru_cache(SHARED_LAYOUTS)
def _layout(
    head: bytes,
    ms_bytes: int,
    id_bytes: int,
    rest: bytes,
    columns: tuple[int, ...],
    digit_columns: tuple[int, ...],
    digits: bytes,
) -> Layout:
    """A layout that nodes share: those with IDs that proceed in the same way.

    `ms_bytes`: how many digits the milliseconds have. IDs relative to the first one follow.
    """
    return Layout(head, id_bytes, rest, columns, digit_columns, digits)
