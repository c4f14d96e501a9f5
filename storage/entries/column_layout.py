"""Columnar layout of similar entries: for each offset where they differ, the byte of each entry."""

from __future__ import annotations

from itertools import groupby

from storage.entries.entry_id import EntryID, format_id
from storage.entries.field_row import FieldRow
from storage.entries.layout import Layout, row_of


class ColumnLayout(Layout):
    """The layout of entries that differ at some offsets only (columns)."""

    __slots__ = ("_columns", "_rest", "_runs", "_template")

    def __init__(self, entry: bytes, id_text: bytes, columns: list[int], step: int) -> None:
        """From one of the entries. `columns`: where entries differ after their IDs."""
        super().__init__(entry, id_text, step)
        self._rest = entry[self._id_end :]
        self._columns = [slice(column, None, self.length) for column in columns]
        self._template, self._runs = _template(entry, len(self._head), self._id_end, columns)

    def squeeze(self, payload: bytes, first_id: EntryID) -> bytes | None:
        """The columns, concatenated."""
        packed = b"".join([payload[column] for column in self._columns])
        return packed if self.gives_back(payload, first_id, packed) else None

    def _alike(
        self, first_id: EntryID, packed: bytes, count: int, low: int, high: int, start: int
    ) -> bytes:
        if high - low == 1:
            differing = packed[low::count]
            return self._template % (format_id(first_id), *[differing[run] for run in self._runs])
        entries = bytearray(self._head + format_id(first_id) + self._rest) * (high - low)
        self._count_up(entries, start, high - low)
        values = bytearray(packed)
        for column in self._columns:
            entries[column] = values[low:high]
            low, high = low + count, high + count
        return bytes(entries)

    def _parts(self) -> tuple[object, ...]:
        lists = (self._columns, self._runs)
        return self._rest, self._template, *lists, *self._columns, *self._runs

    def row(self) -> FieldRow:
        """The fields of these entries, to be filled in one after the other."""
        columns = [column.start - self._id_end for column in self._columns]
        return row_of(self._rest, columns, is_number=False)


def _template(
    entry: bytes, id_start: int, id_end: int, columns: list[int]
) -> tuple[bytes, list[slice]]:
    """A format string for entries, and for each gap after the ID the columns that fill it."""
    template, runs = entry[:id_start] + b"%b", []
    end = id_end  # of what is done
    for _, group in groupby(enumerate(columns), lambda item: item[1] - item[0]):
        run = list(group)
        runs.append(slice(run[0][0], run[-1][0] + 1))
        template += entry[end : run[0][1]].replace(b"%", b"%%") + b"%b"
        end = run[-1][1] + 1
    return template + entry[end:].replace(b"%", b"%%"), runs
