"""Entries that are alike but for one number of a fixed width: two digits of it in each byte.

So a value of twelve digits takes six bytes. A number may be hexadecimal, in lower case.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.entries.field_row import FieldRow
from storage.entries.layout import Layout, row_of

_DIGITS = b"0123456789abcdef"
# The value of each letter that is a digit, and for others a greater number.
_VALUES: bytes = bytes([_DIGITS.find(letter) & 0xFF for letter in range(256)])
# Numbers are packed here; the memory is used again for the next node.
_packed = bytearray()


class NumberLayout(Layout):
    """Entries that differ in one place only, in an even number of digits."""

    __slots__ = ("_end", "_middle", "_number", "_packed_bytes")

    def __init__(self, entry: bytes, id_text: bytes, number: slice, step: int) -> None:
        """From one of the entries. `number`: where in an entry it is."""
        super().__init__(entry, id_text, step)
        self._number = number
        self._packed_bytes = (number.stop - number.start) // 2
        self._middle = entry[self._id_end : number.start]
        self._end = entry[number.stop :]

    def squeeze(self, payload: bytes, first_id: EntryID) -> bytes | None:
        """The numbers, concatenated."""
        if cython.compiled:
            return _pack_numbers(
                payload, self.length, self._head, self._id_end, self._middle, self._end
            )
        start, stop = self._number.start, self._number.stop
        places = range(0, len(payload), self.length)
        digits = b"".join([payload[place + start : place + stop] for place in places])
        try:
            packed = bytes.fromhex(digits.decode("ascii"))
        except ValueError:
            return None
        # White space between digits is passed over, and capitals read as the same numbers.
        is_whole = 2 * len(packed) == len(digits)
        return packed if is_whole and self.gives_back(payload, first_id, packed) else None

    def _alike(
        self, first_id: EntryID, packed: bytes, count: int, low: int, high: int, start: int
    ) -> bytes:
        size = self._packed_bytes
        numbers = packed[low * size : high * size].hex("\n", size).encode()
        before = b"%b%d-%d%b" % (
            self._head, first_id >> SEQ_BITS, first_id & MAX_SEQ, self._middle,
        )  # fmt: skip
        numbers = numbers.replace(b"\n", self._end + before)
        if high - low == 1:
            return b"%b%b%b" % (before, numbers, self._end)
        entries = bytearray(b"%b%b%b" % (before, numbers, self._end))
        self._count_up(entries, start, high - low)
        return bytes(entries)

    def _parts(self) -> tuple[object, ...]:
        return self._middle, self._end, self._number

    def row(self) -> FieldRow:
        """The fields of these entries, to be filled in one after the other."""
        digits = 2 * self._packed_bytes
        fields = self._middle + bytes(digits) + self._end
        start = len(self._middle)
        return row_of(fields, range(start, start + digits), is_number=True)


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _pack_numbers(
    payload: bytes,
    length: cython.Py_ssize_t,
    head: bytes,
    middle_at: cython.Py_ssize_t,
    middle: bytes,
    end: bytes,
) -> bytes | None:
    """Return the digits between `middle` and `end` in entries of this length, two in a byte.

    None if the text around them differs in an entry, or has anything but digits between.
    """
    data: cython.p_const_uchar = payload
    head_text: cython.p_const_uchar = head
    middle_text: cython.p_const_uchar = middle
    end_text: cython.p_const_uchar = end
    values: cython.p_const_uchar = _VALUES
    first: cython.Py_ssize_t = middle_at + len(middle)
    stop: cython.Py_ssize_t = length - len(end)
    size: cython.Py_ssize_t = len(payload)
    room: cython.Py_ssize_t = size // length * ((stop - first) // 2)
    if len(_packed) < room:
        _packed.extend(bytes(room - len(_packed)))
    packed: bytearray = _packed
    out: cython.p_uchar = packed
    place: cython.Py_ssize_t = 0
    entry: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    high: cython.uchar
    low: cython.uchar
    while entry < size:
        if (
            memcmp(data + entry, head_text, len(head))  # type: ignore[name-defined, operator]  # noqa: F821
            or memcmp(data + entry + middle_at, middle_text, len(middle))  # type: ignore[name-defined, operator]  # noqa: F821
            or memcmp(data + entry + stop, end_text, len(end))  # type: ignore[name-defined, operator]  # noqa: F821
        ):
            return None
        for at in range(entry + first, entry + stop, 2):
            high = values[data[at]]
            low = values[data[at + 1]]
            if high > 15 or low > 15:
                return None
            out[place] = high << 4 | low
            place += 1
        entry += length
    return bytes(out[:place])


def find_number(entry: bytes, columns: list[int]) -> slice | None:
    """Where the number is if these columns are one; None if they are not."""
    if not columns or columns[-1] - columns[0] != len(columns) - 1:
        return None
    start, end = columns[0], columns[-1] + 1
    if len(columns) % 2:
        # With a digit beside it that happens to be the same everywhere, such as a leading zero.
        if entry[start - 1] in _DIGITS:
            start -= 1
        elif entry[end : end + 1] in _DIGITS:
            end += 1
        else:
            return None
    return slice(start, end)
