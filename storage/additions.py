"""Entries that are to be appended together: encoded, and what they would take in Redis's listpack.

Where a node ends depends on that size (storage/listpack_size.py). For many entries at once it is
counted in columns: all first names, all first values, all second names ... It is only counted
where it is asked for, since most nodes are full by the number of their entries.

A column is one text, if all entries have the same there, or the text of each; `Bulks` are texts
that are still bulk strings, as a client sent them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, compress, repeat
from operator import eq
from typing import TypeAlias

from storage.entry_id import EntryID
from storage.listpack_size import (
    FLAGS_BYTES,
    MAX_INTEGER_DIGITS,
    element_bytes,
    integer_bytes,
    text_bytes,
    texts_bytes,
)

# Of a bulk string, its last CRLF left out, with a text that is longer than any integer: at least.
_LEAST_LONG_BULK = len(b"$21\r\n") + MAX_INTEGER_DIGITS + 1


class Bulks:
    """A column of texts as bulk strings, without the CRLF behind them."""

    __slots__ = ("_bulks",)

    def __init__(self, bulks: list[bytes]) -> None:
        self._bulks = bulks

    def sizes(self) -> list[int]:
        """What each text takes in a listpack."""
        lengths = list(map(len, self._bulks))
        if min(lengths) >= _LEAST_LONG_BULK:
            # No integer is so long: the lengths, which are few different ones, tell the sizes.
            known = {length: text_bytes(_text_length(length)) for length in set(lengths)}
            return list(map(known.__getitem__, lengths))
        return texts_bytes(self.texts())

    def texts(self) -> list[bytes]:
        """Each text by itself."""
        return [bulk[bulk.index(b"\n") + 1 :] for bulk in self._bulks]

    def length_at(self, index: int) -> int:
        """The length of one text."""
        return _text_length(len(self._bulks[index]))


@lru_cache(maxsize=1024)
def _text_length(bulk_bytes: int) -> int:
    """The length of the text in a bulk string of so many bytes, its last CRLF left out."""
    length = bulk_bytes - len(b"$0\r\n")
    while len(b"$%d\r\n" % length) + length > bulk_bytes:
        length -= 1
    return length


def is_uniform(column: Sequence[bytes]) -> bool:
    """Whether all texts of a column are the same."""
    return column[0] == column[-1] and column.count(column[0]) == len(column)


Column: TypeAlias = bytes | Sequence[bytes] | Bulks


class Additions:
    """Entries of as many fields each, with ascending IDs; at least one.

    `fields`: columns, of names and values in turn. `names`: the names of the fields, if all entries
    have the same; None if not.
    """

    def __init__(
        self,
        ids: Sequence[EntryID],
        entries: list[bytes],
        fields: Sequence[Column],
        names: list[bytes] | None,
    ) -> None:
        self.ids = ids
        self.entries = entries
        self.names = names
        self._fields = fields

    @classmethod
    def of_columns(
        cls, ids: Sequence[EntryID], entries: list[bytes], columns: Iterable[Sequence[bytes]]
    ) -> Additions:
        """From columns that have a text for each entry."""
        fields: list[Column] = [c[0] if is_uniform(c) else c for c in columns]
        names = [column for column in fields[::2] if isinstance(column, bytes)]
        return cls(ids, entries, fields, names if 2 * len(names) == len(fields) else None)

    def names_at(self, index: int) -> list[bytes]:
        """The names of one entry's fields."""
        return self.names or list(self._rows_of_names[index])

    @cached_property
    def _rows_of_names(self) -> list[tuple[bytes, ...]]:
        columns: list[Iterable[bytes]] = []
        for column in self._fields[::2]:
            if isinstance(column, bytes):
                columns.append(repeat(column, len(self.entries)))
            else:
                columns.append(column.texts() if isinstance(column, Bulks) else column)
        return list(zip(*columns, strict=True))

    @cached_property
    def longest_bytes(self) -> int:
        """No entry's fields have more bytes together."""
        return max(map(len, self.entries))

    def fields_bytes(self, index: int) -> int:
        """The bytes of one entry's fields, without any framing."""
        size = 0
        for column in self._fields:
            if isinstance(column, bytes):
                size += len(column)
            elif isinstance(column, Bulks):
                size += column.length_at(index)
            else:
                size += len(column[index])
        return size

    # -- sizes in a listpack -----------------------------------------------------------------------

    def totals(self, master_names: list[bytes]) -> list[int]:
        """What the entries before each take, and all of them, in a node with these names.

        That is a node whose first entry has these names. The IDs, whose size depends on the node
        as well, are not counted.
        """
        if self.names is not None:
            return self._totals_alike if self.names == master_names else self._totals_unlike
        if self._mixed_names != master_names:
            self._mixed_names = master_names
            self._mixed_totals = self._count_mixed(tuple(master_names))
        return self._mixed_totals

    # What was counted last for names that differ.
    _mixed_names: list[bytes] | None = None
    _mixed_totals: list[int]

    def _count_mixed(self, master_names: tuple[bytes, ...]) -> list[int]:
        are_alike = list(map(eq, self._rows_of_names, repeat(master_names)))
        if True not in are_alike:
            return self._totals_unlike
        sizes = self._sizes_unlike.copy()
        for index in compress(range(len(sizes)), are_alike):
            sizes[index] = self._sizes_alike[index]
        return _running(sizes)

    @cached_property
    def _totals_alike(self) -> list[int]:
        return _running(self._sizes_alike)

    @cached_property
    def _totals_unlike(self) -> list[int]:
        return _running(self._sizes_unlike)

    @cached_property
    def _sizes_alike(self) -> list[int]:
        """Of each entry in a node that leaves out its names."""
        pairs = len(self._fields) // 2
        return self._sum(FLAGS_BYTES + integer_bytes(pairs + 3), self._sizes[1::2])

    @cached_property
    def _sizes_unlike(self) -> list[int]:
        """Of each entry in a node that does not."""
        pairs = len(self._fields) // 2
        counts = integer_bytes(pairs) + integer_bytes(2 * pairs + 4)
        return self._sum(FLAGS_BYTES + counts, self._sizes)

    @cached_property
    def _sizes(self) -> list[int | list[int]]:
        """What each column takes: the same for all entries, or for each."""
        return [_column_sizes(column) for column in self._fields]

    def _sum(self, size: int, columns: list[int | list[int]]) -> list[int]:
        size += sum([column for column in columns if isinstance(column, int)])
        varying = [column for column in columns if not isinstance(column, int)]
        if not varying:
            return [size] * len(self.entries)
        return list(map(sum, zip(repeat(size), *varying)))


def _column_sizes(column: Column) -> int | list[int]:
    if isinstance(column, bytes):
        return element_bytes(column)
    return column.sizes() if isinstance(column, Bulks) else texts_bytes(column)


def _running(sizes: list[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))
