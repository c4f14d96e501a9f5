"""Counts the entries of a journal, column by column, a million in seconds, without Spark.

The server writes the journal (XCFGSET key ACK-JOURNAL name); its fields are listed below in their
order. Other entries are counted as unreadable. Negative times, after a clock was set back, count as
0.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.arrow.decoder import fields_decoder, texts
from rillway.pipeline.latency.distribution import LatencyCounts
from rillway.pipeline.ranges.discovery import check_there
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import as_map
from rillway.pipeline.wire.ids import format_id, parse_id

NAMES = ("stream", "group", "consumer", "id", "delivered", "acked", "deliveries")
# A limit that fits into 64 bits, beyond the year 30,000,000.
NUMBER = r"^[0-9]{1,18}$"
TIME_ID = r"^[0-9]{1,18}-[0-9]{1,20}$"


class NoJournal(Exception):
    """There is no journal to read; the message says what to do."""


def find_journal(connection: Connection, stream: str) -> str:
    """Return the key of a stream's journal. Raises NoJournal, StreamMissing, ServerError."""
    check_there(connection, stream, remedy="--journal reads the journal of a deleted stream")
    try:
        key = as_map(connection.call("XINFO", "POLICY", stream)).get(b"ack-journal")
    except ServerError as error:
        if "subcommand" not in str(error).lower():
            raise
        key = None  # Redis has no journals
    if key is None:
        raise NoJournal(
            f"{stream} has no journal of acknowledgements. Rillway keeps one after "
            f"XCFGSET {stream} ACK-JOURNAL {journal_name(connection, stream)} (or name one "
            "with --journal)"
        )
    return key.decode(errors="backslashreplace")  # type: ignore[no-any-return]


def journal_name(connection: Connection, stream: str) -> str:
    """Return a name for a stream's journal, in a cluster one in the stream's slot."""
    name = f"{stream}:acks"
    return name if connection.slot(name) == connection.slot(stream) else f"{{{stream}}}:acks"


def count(batch: pa.RecordBatch, stream: str, groups: Collection[str] = ()) -> LatencyCounts:
    """Count the acknowledgements of `stream` in entries of a journal, columns as in schema.py.

    `groups`: the groups to count; empty for all.
    """
    tally = LatencyCounts()
    columns = _columns(batch)
    tally.unreadable = len(batch) - len(columns)
    wanted = pc.equal(columns["stream"], stream)
    if groups:
        wanted = pc.and_(wanted, pc.is_in(columns["group"], pa.array(list(groups), pa.string())))
    columns = columns.filter(wanted)
    acked, delivered = columns["acked"], columns["delivered"]
    nothing = pa.scalar(None, pa.int64())
    times = {
        "pending": _between(pc.if_else(pc.equal(delivered, 0), nothing, delivered), acked),
        "total": _between(_id_ms(columns["id"]), acked),
    }
    who = ["group", "consumer"]
    for group, consumer, number in _rows(columns.select(who), who):
        tally.of(group, consumer).count += number
    for what, ms in times.items():
        known = columns.select(who).append_column("ms", ms).filter(pc.is_valid(ms))
        for group, consumer, time_ms, number in _rows(known, [*who, "ms"]):
            getattr(tally.of(group, consumer), what).add(time_ms, number)
    return tally


def _columns(batch: pa.RecordBatch) -> pa.Table:
    """Return the fields as columns, of entries in the format of a journal."""
    fields = batch.column("fields")
    fields = fields.filter(pc.equal(pc.list_value_length(fields), len(NAMES)))
    names, values = pc.list_flatten(fields).flatten()
    is_right = pa.repeat(pa.scalar(True), len(fields))
    columns = {}
    for position, name in enumerate(NAMES):
        places = pa.array(range(position, len(values), len(NAMES)), pa.int64())
        is_right = pc.and_(is_right, pc.equal(names.take(places), name.encode()))
        columns[name] = _texts(values.take(places))
    for name in ("delivered", "acked", "deliveries"):
        is_right = pc.and_(is_right, pc.match_substring_regex(columns[name], NUMBER))
    table = pa.table(columns).filter(is_right)
    for name in ("delivered", "acked"):
        table = table.set_column(NAMES.index(name), name, table[name].cast(pa.int64()))
    return table


def _texts(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return texts(values.to_pylist())


def _id_ms(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the times in IDs; null for IDs that are not times."""
    halves = pc.replace_substring_regex(ids, "-.*$", "")
    known = pc.match_substring_regex(ids, TIME_ID)
    return pc.if_else(known, halves, pa.scalar(None, pa.string())).cast(pa.int64())


def _between(start: pa.ChunkedArray, end: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.max_element_wise(pc.subtract(end, start), 0, skip_nulls=False)


def _rows(table: pa.Table, names: list[str]) -> list[tuple]:  # type: ignore[type-arg]
    """Return each distinct combination of the columns' values, and its frequency."""
    counted = table.group_by(names).aggregate([([], "count_all")])
    return list(zip(*(counted[name].to_pylist() for name in [*names, "count_all"]), strict=True))


COUNT = 1000


class Follower:
    """Reads a growing journal, from the entry after `after` on."""

    def __init__(
        self, connection: Connection, journal: str, stream: str, groups: Collection[str], after: int
    ) -> None:
        self._connection, self._journal = connection, journal
        self._stream, self._groups = stream, groups
        self._decode = fields_decoder(journal)
        self.after = after

    def next_tally(self, wait_ms: int) -> LatencyCounts:
        """Return a tally of up to COUNT new entries; waits for the first at most `wait_ms`."""
        reply = self._connection.call(
            "XREAD", "COUNT", COUNT, "BLOCK", max(wait_ms, 1),
            "STREAMS", self._journal, format_id(self.after),
        )  # fmt: skip
        if not reply:
            return LatencyCounts()
        [[_, entries]] = reply
        self.after = parse_id(entries[-1][0])
        return count(self._decode(entries), self._stream, self._groups)
