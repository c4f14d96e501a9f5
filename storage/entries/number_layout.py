"""Entries that are alike but for one number of a fixed width: two digits of it in each byte.

So a value of twelve digits takes six bytes. A number may be hexadecimal, in lower case.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from storage.entries.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.entries.layout import Layout

_DIGITS = b"0123456789abcdef"


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

    def squeeze(self, payload: bytes) -> bytes | None:
        """The numbers, concatenated."""
        before, end = self._number.start, self._number.stop
        count = len(payload) // self.length
        cutter = _cutter(before, end - before, self.length - end, count)
        # All of these stay until the last one is made: what is kept would else take a part of what
        # was given up just before, and leave a gap that is too small for the next one.
        cut = cutter.unpack(payload)
        joined = b"".join(cut)
        try:
            packed = bytes.fromhex(joined.decode("ascii"))
        except ValueError:
            return None
        # White space between digits is passed over.
        return packed if 2 * len(packed) == len(joined) else None

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


@lru_cache(maxsize=128)
def _cutter(before: int, size: int, behind: int, count: int) -> Struct:
    """What cuts text of this size out of `count` entries."""
    return Struct(f"{before}x{size}s{behind}x" * count)


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
