"""Arrow batches as XADD requests: a whole batch at once, without a Python object for each row.

The fields of a row's entry are:

- its column `fields`, if there is one: an array of (name, value) or a map, of text or bytes;
  besides it, only the source's own columns are allowed;
- otherwise each column, under its name, as text. Null is left out, and so are columns with another
  purpose: `stream` if it names the target, `id` if IDs are kept, and the columns of the option
  originColumns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rillway.client.partitions import Partitions
from rillway.pipeline.arrow.origins import Origins
from rillway.pipeline.arrow.schema import ORIGIN

# How many bytes are made into requests at once.
MAX_BATCH_BYTES = 32 << 20
FIELDS, STREAM, ID = "fields", "stream", "id"

SEPARATOR = pa.scalar(b"", pa.binary())
CRLF = pa.scalar(b"\r\n", pa.binary())
DOLLAR, STAR = pa.scalar(b"$", pa.binary()), pa.scalar(b"*", pa.binary())
XADD = pa.scalar(b"$4\r\nXADD\r\n", pa.binary())
AUTO_ID = pa.scalar(b"$1\r\n*\r\n", pa.binary())
# XADD, the stream and the ID; each field adds two.
COMMAND_WORDS = 3


class UnwritableRow(ValueError):
    """A row, or all rows of a DataFrame, cannot be written as an entry."""


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Chooses the partition of a stream for each row, by the key in one of its columns."""

    partitions: Partitions
    key_column: str

    def streams(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the stream of each row. Raises UnwritableRow for a row without a key."""
        keys = as_text(batch.column(self.key_column), self.key_column)
        if keys.null_count:
            raise UnwritableRow(f"the column {self.key_column} is null in a row")
        numbers = pa.array(map(self.partitions.partition, keys.to_pylist()), pa.int32())
        return pa.array(self.partitions.streams, pa.string()).take(numbers)


class Encoder:
    """Makes requests for the rows of batches with the same schema."""

    def __init__(
        self,
        schema: pa.Schema,
        *,
        stream: str | None,
        keeps_ids: bool,
        origin_columns: tuple[str, str] | None = None,
        partitioning: Partitioning | None = None,
    ) -> None:
        """`stream`: the target of all rows; None if the column or `partitioning` decides.

        Raises UnwritableRow.
        """
        self._stream = stream
        self._partitioning = partitioning
        self._keeps_ids = keeps_ids
        names = set(schema.names)
        key = partitioning and partitioning.key_column
        if key is not None and key not in names:
            raise UnwritableRow(f"keyColumn names {key}: there is no such column")
        if stream is None and partitioning is None and STREAM not in names:
            raise UnwritableRow("there is neither an option nor a column that names the stream")
        if keeps_ids and ID not in names:
            raise UnwritableRow("ids=keep needs a column id")
        missing = sorted({*(origin_columns or ())} - names)
        if missing:
            raise UnwritableRow(
                f"originColumns names {', '.join(missing)}: there is no such column"
            )
        self._has_fields = FIELDS in names
        self._origin_columns = origin_columns
        if self._has_fields:
            unknown = sorted(names - {*ORIGIN, FIELDS, key, *(origin_columns or ())})
            if unknown:
                raise UnwritableRow(
                    f"beside fields, the column {', '.join(unknown)} would not be written: put it "
                    "into fields, or drop it"
                )
            _check_fields(schema.field(FIELDS).type)
            # If the option names the stream, these are the source's own columns.
            is_named = stream is not None or partitioning is not None
            if origin_columns is None and is_named and {STREAM, ID} <= names:
                self._origin_columns = STREAM, ID
        self._has_stream_column = stream is None and partitioning is None
        used = {*(origin_columns or ())} | ({STREAM} if self._has_stream_column else set())
        used |= {ID} if keeps_ids else set()
        self._columns = [name for name in schema.names if name not in used]
        if not self._columns:
            raise UnwritableRow("there is no column to write")

    def origins(self, batch: pa.RecordBatch) -> Origins | None:
        """Return the entries that rows come from; None if the rows do not name them.

        Raises UnwritableRow if the option requires them.
        """
        if self._origin_columns is None:
            return None
        streams, ids = (batch.column(name).cast(pa.string()) for name in self._origin_columns)
        try:
            return Origins.read(streams, ids)
        except ValueError as error:  # includes ArrowInvalid
            if self._origin_columns == (STREAM, ID) and self._has_fields:
                return None
            raise UnwritableRow(f"originColumns: {error}") from None

    def requests(self, batch: pa.RecordBatch) -> Iterator[pa.BinaryArray]:
        """Yield a request for each row, in arrays of limited size.

        Raises UnwritableRow for a row without a stream, an ID or a field.
        """
        parts = batch.nbytes // MAX_BATCH_BYTES + 1
        rows = max(batch.num_rows // parts, 1)
        for begin in range(0, batch.num_rows, rows):
            yield self._encode(batch.slice(begin, rows))

    def streams(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the stream of each row."""
        if self._stream is not None:
            return pa.repeat(self._stream, batch.num_rows)
        if self._partitioning is not None:
            return self._partitioning.streams(batch)
        return batch.column(STREAM).cast(pa.string())

    def _encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        if self._has_fields:
            pairs, counts = _listed_pairs(batch.column(FIELDS))
        else:
            pairs, counts = self._column_pairs(batch)
        self._check(batch, counts)
        words = pc.add(pc.multiply(counts, 2), COMMAND_WORDS)
        stream = (
            pa.scalar(_bulk(self._stream.encode()), pa.binary())
            if self._stream is not None
            else bulks(_as_bytes(self.streams(batch)))
        )
        entry_id = bulks(_as_bytes(batch.column(ID))) if self._keeps_ids else AUTO_ID
        return _join(STAR, _digits(words), CRLF, XADD, stream, entry_id, pairs)

    def _column_pairs(self, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """Return the pairs of each row, and their number."""
        parts: list[pa.Array] = []
        counts = pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)
        for name in self._columns:
            values = as_text(batch.column(name), name)
            key = pa.scalar(_bulk(name.encode()), pa.binary())
            parts.append(pc.fill_null(_join(key, bulks(values)), b""))
            counts = pc.add(counts, values.is_valid().cast(pa.int32()))
        return _join(*parts), counts

    def _check(self, batch: pa.RecordBatch, counts: pa.Array) -> None:
        required = [STREAM] if self._has_stream_column else []
        required += [ID] if self._keeps_ids else []
        for name in required:
            if batch.column(name).null_count:
                raise UnwritableRow(f"the column {name} is null in a row")
        if batch.num_rows and (counts.null_count or not pc.min(counts).as_py()):
            raise UnwritableRow("a row has no field that is not null, and an entry needs one")


def _check_fields(kind: pa.DataType) -> None:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if is_list and pa.types.is_struct(kind.value_type):
        names = [kind.value_type.field(n).name for n in range(kind.value_type.num_fields)]
        if names == ["name", "value"]:
            return
    if not pa.types.is_map(kind):
        raise UnwritableRow(
            "the column fields must be a map, or an array of struct<name, value>: it is "
            + str(kind)
        )


def _listed_pairs(fields: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the pairs of each row, and their number, from a column of lists or maps."""
    if pa.types.is_map(fields.type):
        fields = _as_list(fields)
    flat = fields.flatten()
    names, values = flat.field("name"), flat.field("value")
    names, values = _as_bytes(names), _as_bytes(values)
    pairs = _join(bulks(names), bulks(values))  # null if either is null
    lengths = pc.list_value_length(fields)
    if not pairs.null_count:
        return _regrouped(pairs, lengths), lengths
    marks = pc.if_else(pairs.is_valid(), pa.scalar(b"1"), pa.scalar(b""))
    counts = pc.binary_length(_regrouped(marks, lengths))
    return _regrouped(pc.fill_null(pairs, b""), lengths), counts


def _as_list(fields: pa.MapArray) -> pa.ListArray:
    """Return the column as lists; a null row becomes an empty list."""
    pairs = pa.StructArray.from_arrays([fields.keys, fields.items], ["name", "value"])
    return pa.ListArray.from_arrays(fields.offsets, pairs)


def _regrouped(flat: pa.Array, lengths: pa.Array) -> pa.Array:
    """Join bytes in groups of these sizes; null and 0 are empty groups."""
    ends = pc.cumulative_sum(pc.fill_null(lengths, 0).cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pc.binary_join(pa.ListArray.from_arrays(offsets, flat), SEPARATOR)


def as_text(column: pa.Array, name: str) -> pa.Array:
    """Return a column's values as text. Raises UnwritableRow if they are not scalars."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        # In UTC, whatever the session's time zone.
        column = column.cast(pa.timestamp("us", kind.tz and "UTC"))
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise UnwritableRow(f"the column {name} cannot be written as text: {kind}")
    return _as_bytes(column)


def _as_bytes(column: pa.Array) -> pa.Array:
    if pa.types.is_binary(column.type):
        return column
    return column.cast(pa.string()).cast(pa.binary())


def bulks(values: pa.Array) -> pa.Array:
    """Return bytes as bulk strings of RESP; null stays null."""
    return _join(DOLLAR, _digits(pc.binary_length(values)), CRLF, values, CRLF)


def _digits(numbers: pa.Array) -> pa.Array:
    return numbers.cast(pa.string()).cast(pa.binary())


def _join(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, SEPARATOR)


def _bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)


def data_of(requests: pa.BinaryArray, begin: int, end: int) -> memoryview:
    """Return the bytes of some rows' requests, without a copy."""
    _, offsets, data = requests.buffers()
    bounds = memoryview(offsets).cast("i")
    first, last = bounds[requests.offset + begin], bounds[requests.offset + end]
    return memoryview(data)[first:last] if data is not None else memoryview(b"")
