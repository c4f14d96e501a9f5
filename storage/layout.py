"""What the entries of a node have in common, where they are alike.

Entries of a stream often have the same length, and IDs that count up by one, and differ beside that
in short values of a fixed width. Such a node is kept as columns: for each place in which entries
differ, that byte of all entries. What is the same everywhere is there once, in a Layout that all
such nodes of a stream share, and IDs follow from the first one. What remains are the values; an
entry is had from them without opening the whole node.

Guarantees: `lay_out` gives a layout only if the entries come back from it byte by byte.
"""

from __future__ import annotations

from itertools import groupby

from storage.entry_id import MAX_SEQ, SEQ_BITS, EntryID, format_id
from storage.id_columns import MS_STEP

# Opening a node costs a step for each column: it has to be worth it for so many entries, ...
MIN_ENTRIES = 16
# ... with so many columns at most, and no more than this share of an entry.
MAX_COLUMNS = 32
MAX_SHARE = 1 / 2

# An entry begins with the header of an array of two, and that of its ID: *2 CRLF $<bytes> CRLF.
_LENGTH_OF_ID = 4

# The last digits of numbers that count up: all ones, all tens ... of two such periods. They are
# bytearrays, because to assign from these takes half the time.
PERIOD = 10_000
_DIGITS = [
    bytearray(ord("0") + number // unit % 10 for number in range(2 * PERIOD))
    for unit in (1, 10, 100, 1000)
]


class Layout:
    """The form of entries of one length; see the module. Columns are offsets in an entry."""

    __slots__ = (
        "_columns",
        "_digits_end",
        "_head",
        "_id_bytes",
        "_rest",
        "_runs",
        "_template",
        "length",
        "step",
    )

    def __init__(self, entry: bytes, id_text: bytes, columns: list[int], step: int) -> None:
        """From one of the entries.

        `columns`: where entries differ behind their IDs. `step`: from an ID to the next one, 1 or
        MS_STEP.
        """
        id_start = entry.index(b"\r\n", _LENGTH_OF_ID) + 2
        self.length = len(entry)
        self.step = step
        self._id_bytes = len(id_text)
        self._head = entry[:id_start]
        self._rest = entry[id_start + len(id_text) :]
        # Where the number ends that counts up.
        counting = id_text.index(b"-") if step == MS_STEP else len(id_text)
        self._digits_end = id_start + counting
        self._columns = [slice(column, None, self.length) for column in columns]
        self._template, self._runs = _template(entry, id_start, len(id_text), columns)

    def fits(self, length: int, id_text: bytes) -> bool:
        """Whether entries of this length with such an ID may have this layout."""
        return self.length == length and self._id_bytes == len(id_text)

    @property
    def column_count(self) -> int:
        """How many columns there are."""
        return len(self._columns)

    def squeeze(self, payload: bytes) -> bytes:
        """What differs in these entries: the columns, one behind the other."""
        return b"".join([payload[column] for column in self._columns])

    def expand(self, first_id: EntryID, packed: bytes, count: int) -> bytes:
        """The `count` entries that were squeezed, the first of which has this ID."""
        number = first_id & MAX_SEQ if self.step == 1 else first_id >> SEQ_BITS
        start = number % PERIOD
        same = min(count, PERIOD - start)  # so many have the same digits before the last four
        entries = bytearray(self._head + format_id(first_id) + self._rest) * same
        if same < count:
            later = format_id(first_id + same * self.step)
            entries += (self._head + later + self._rest) * (count - same)
        length = self.length
        column, low, high = self._digits_end, start, start + count - 1
        for digits in _DIGITS:
            if low == high:
                break
            column -= 1
            entries[column::length] = digits[start : start + count]
            low, high = low // 10, high // 10
        values, place = bytearray(packed), 0
        for target in self._columns:
            entries[target] = values[place : place + count]
            place += count
        return bytes(entries)

    def entry(self, entry_id: EntryID, packed: bytes, count: int, place: int) -> bytes:
        """One of `count` entries that were squeezed: that at a place, which has this ID."""
        differing = packed[place::count]
        return self._template % (format_id(entry_id), *[differing[run] for run in self._runs])


def _template(
    entry: bytes, id_start: int, id_bytes: int, columns: list[int]
) -> tuple[bytes, list[slice]]:
    """An entry to fill in an ID and what differs, and the runs of columns that go into one gap."""
    template, runs = entry[:id_start] + b"%b", []
    end = id_start + id_bytes  # of what is done
    for _, group in groupby(enumerate(columns), lambda item: item[1] - item[0]):
        run = list(group)
        runs.append(slice(run[0][0], run[-1][0] + 1))
        template += entry[end : run[0][1]].replace(b"%", b"%%") + b"%b"
        end = run[-1][1] + 1
    return template + entry[end:].replace(b"%", b"%%"), runs


def lay_out(
    payload: bytes, ids: list[EntryID], known: Layout | None
) -> tuple[Layout, bytes] | None:
    """A layout for entries of one length, with these IDs, and their columns; None if it is no gain.

    `known`: the layout of entries before, which probably fits these as well.
    """
    count = len(ids)
    length, id_text = len(payload) // count, format_id(ids[0])
    if not MIN_ENTRIES <= count <= PERIOD or len(format_id(ids[-1])) != len(id_text):
        return None
    if known is not None and known.fits(length, id_text):
        packed = known.squeeze(payload)
        if known.expand(ids[0], packed, count) == payload:
            return known, packed
    step = 1 if ids[-1] - ids[0] == count - 1 else MS_STEP
    columns = _differing(payload, length, payload.index(id_text) + len(id_text))
    if len(columns) > min(MAX_COLUMNS, length * MAX_SHARE):
        return None
    layout = Layout(payload[:length], id_text, columns, step)
    packed = layout.squeeze(payload)
    return (layout, packed) if layout.expand(ids[0], packed, count) == payload else None


def _differing(payload: bytes, length: int, start: int) -> list[int]:
    """The columns from `start` on in which entries of this length are not all the same."""
    found = []
    for column in range(start, length):
        data = payload[column::length]
        if data.count(data[0]) != len(data):
            found.append(column)
    return found
