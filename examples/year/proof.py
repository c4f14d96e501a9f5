"""Checks that the archive, the queries and the replay agree with the data set."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from examples.year.year import STREAM
from rillway.demo.departures.audit import Check
from rillway.demo.departures.data_set import Departure, count_by_carrier
from rillway.pipeline.archive.files.periods import MS_PER_DAY
from rillway.pipeline.archive.files.periods import day_of as date_of
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query import command as query
from rillway.pipeline.query.frames import read_history
from rillway.pipeline.ranges.reader import read_batches
from rillway.pipeline.replay.replayer import Replayer, Speed
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, make_id

REPLAYED, PACED = "departures-replayed", "departures-paced"
CARRIER = "UA"
# So that a day of departures takes two seconds.
SPEED = 43_200.0


def fields_of(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, str]]:
    for batch in batches:
        for pairs in batch.column("fields").to_pylist():
            yield {pair["name"].decode(): pair["value"].decode() for pair in pairs}


def query_checks(
    url: str, archive: Path, departures: Sequence[Departure], day_number: int
) -> Iterator[Check]:
    """One day, of which the first half is archived and trimmed and the other is in memory."""
    day = date_of(day_number * MS_PER_DAY)
    today = [departure for departure in departures if date_of(departure.scheduled_ms) == day]
    words = ["--stream", STREAM, "--url", url, "--archive", str(archive)]
    words += ["--from", f"{day}T00:00Z", "--to", f"{day}T23:59:59.999Z", "--format", "json"]
    lines = run_query(words)
    table = ArchiveTable.open(archive)
    archived = sum(file.rows for file in table.files() if file.date == day)
    yield Check(f"{day} is partly archived, partly in memory", True, 0 < archived < len(today))
    yield Check(f"departures of {day}, from archive and memory", len(today), len(lines))
    yield Check(
        "they are those of the data set, in order",
        True,
        [line["fields"] for line in lines] == [departure.fields() for departure in today],
    )
    chosen = [departure for departure in today if departure.carrier == CARRIER]
    began = time.monotonic()
    found = run_query([*words, "--where", f"fields['carrier'] = '{CARRIER}'"])
    print(f"  query with --where: {time.monotonic() - began:.1f} s to the end", flush=True)
    yield Check(f"of them {CARRIER}'s, by Spark SQL", len(chosen), len(found))
    yield Check(
        "they are the same", True, [x["fields"] for x in found] == [d.fields() for d in chosen]
    )


def run_query(words: Sequence[str]) -> list[dict[str, object]]:
    """`rillway query`, as if it had been typed; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = query.main(list(words))
    if status:
        return []
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def history_checks(url: str, archive: Path, departures: Sequence[Departure]) -> Iterator[Check]:
    """All of it, counted by Spark."""
    from pyspark.sql import functions

    from rillway.pipeline.spark.spark_session import spark_session

    spark = spark_session("rillway pipeline demo")
    with read_history(spark, stream=STREAM, archive=archive, url=url) as frame:
        pair = functions.filter("fields", lambda each: each["name"] == functions.lit(b"carrier"))[0]
        carriers = frame.select(pair["value"].cast("string").alias("carrier"))
        rows = carriers.groupBy("carrier").count().collect()
        counted = {row["carrier"]: row["count"] for row in rows}
    spark.stop()
    expected = count_by_carrier(departures)
    total = sum(counted.values())
    yield Check("departures in archive and memory, by Spark", len(departures), total)
    yield Check("as many of each carrier as in the data set", dict(expected), counted)


def replay_checks(url: str, archive: Path, departures: Sequence[Departure]) -> Iterator[Check]:
    """All at once with their IDs, and one day at its pace."""
    table = ArchiveTable.open(archive)
    began = time.monotonic()
    done = Replayer(url, table, STREAM, REPLAYED, keeps_ids=True).run()
    rate = done.rows / (time.monotonic() - began)
    print(f"  replayed {done.rows:,} departures, {rate:,.0f} a second", flush=True)
    again = Replayer(url, table, STREAM, REPLAYED, keeps_ids=True).run()
    yield Check("a replay that is run again has nothing to do", 0, again.rows)
    with Connection(url) as connection:
        yield Check("departures replayed", len(departures), connection.call("XLEN", REPLAYED))
        replayed = fields_of(read_batches(connection, REPLAYED, MIN_ID, MAX_ID))
        expected = dict(count_by_carrier(departures))
        yield Check("as many of each carrier", expected, by_carrier(replayed))

    day = date_of(departures[0].scheduled_ms)
    first = [departure for departure in departures if date_of(departure.scheduled_ms) == day]
    span_s = (first[-1].scheduled_ms - first[0].scheduled_ms) / 1000
    end = make_id((first[-1].scheduled_ms // MS_PER_DAY + 1) * MS_PER_DAY) - 1
    began = time.monotonic()
    paced = Replayer(url, table, STREAM, PACED, pace=Speed(SPEED)).run(last=end)
    seconds = time.monotonic() - began
    print(f"  the first day at {SPEED:,.0f}x: {seconds:.1f} s", flush=True)
    yield Check("departures of the first day, replayed at speed", len(first), paced.rows)
    yield Check("it took as long as it should", True, seconds >= span_s / SPEED)


def by_carrier(entries: Iterator[dict[str, str]]) -> dict[str, int]:
    return dict(Counter(entry["carrier"] for entry in entries))


def archive_checks(url: str, archive: Path, departures: Sequence[Departure]) -> Iterator[Check]:
    """At the end: everything is in the archive, once, in order and as it was."""
    table = ArchiveTable.open(archive)
    archived = fields_of(batch for _, batch in table.rows(STREAM).batches())
    same = sum(
        found == departure.fields() for found, departure in zip(archived, departures, strict=False)
    )
    rows = sum(file.rows for file in table.files())
    yield Check("departures in the archive", len(departures), rows)
    yield Check("those that are as in the data set, at their place", len(departures), same)
    days = {date_of(departure.scheduled_ms) for departure in departures}
    yield Check("days in the archive", len(days), len({file.date for file in table.files()}))
    with Connection(url) as connection:
        # The last one stays: it shows that the stream is the one that was archived.
        yield Check("departures left in memory", 1, connection.call("XLEN", STREAM))
