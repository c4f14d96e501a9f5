"""`rillway query`: the entries of a range of time, from archive and memory.

Archive and stream are read in order, so the first entries are printed at once. --where takes
Spark's SQL. Simple conditions are evaluated here (ranges/filters.py); others start Spark.

Entries go to standard output or to a file; progress goes to standard error. Exits with 0, 1 if it
cannot go on, 2 for a bad argument, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rillway.pipeline.archive.files.parquet_files import EPOCH
from rillway.pipeline.archive.identity.recognition import Refused
from rillway.pipeline.archive.pins import PinLost
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.arrow.decoder import timestamps
from rillway.pipeline.cli.interruption import Interrupted, Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.query.arguments import parse_options
from rillway.pipeline.query.frames import data_frame
from rillway.pipeline.query.history import HISTORY_SCHEMA, History, open_history
from rillway.pipeline.query.output import Output, open_output
from rillway.pipeline.ranges.conditions import Reading, UnreadableLiteral, bounds, quoted_name
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.ranges.filters import Expression, NeedsSpark, UnknownColumn, make_filter
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.spark.spark_session import PipelineUnavailable, root_cause, spark_session
from rillway.pipeline.wire.connection import ConnectionLost, ServerError
from rillway.pipeline.wire.ids import MAX_SEQ, MS, in_unit, make_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

EXPECTED_ERRORS = (
    ArchiveError,
    ConnectionLost,
    DataLost,
    OSError,
    PinLost,
    PipelineUnavailable,
    Refused,
    ServerError,
    StreamMissing,
)
# For --where: fields by name, as text; `raw` has them unchanged.
AS_TEXT = (
    "map_from_entries(transform(fields, pair -> "
    "struct(cast(pair.name AS STRING), cast(pair.value AS STRING))))"
)
BATCH_ROWS = 1000
SPARK_SETTINGS = {"spark.sql.mapKeyDedupPolicy": "LAST_WIN"}
# The end of a message that begins with what needs Spark.
NEEDS_SPARK = (
    " needs Spark{}; comparisons of texts with texts, numbers with numbers and times with "
    "'2026-01-31T12:00:00Z', BETWEEN, IN, LIKE, AND, OR and NOT need none"
)
STARTING = ", whose start takes ten seconds or more"
MISSING = ", which is missing: pip install 'rillway[pipeline]'"


class QueryFailed(Exception):
    """Spark failed; the message is one line."""


def main(arguments: list[str]) -> int:
    """Answer one query. Returns the exit status."""
    options = parse_options(arguments)
    try:
        return run(options)
    except (QueryFailed, *EXPECTED_ERRORS) as error:
        print(f"rillway query: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(options: argparse.Namespace) -> int:
    """Read the entries and write them."""
    with contextlib.ExitStack() as stack:
        file = sys.stdout
        if options.output is not None and options.format != "parquet":
            file = stack.enter_context(options.output.open("w", encoding="utf-8", newline=""))
        history = stack.enter_context(
            open_history(
                options.url,
                options.stream,
                options.archive,
                epochs=options.epochs,
                fails_if_missing=not options.allow_missing,
                storage_options=options.storage_options,
                bounds=partial(bounds_of, options),
                say=lambda text: print(f"rillway query: {text}", file=sys.stderr),
            )
        )
        batches = selected(history, options.where, options.limit, stack)
        # Spark sets its own signal handler, so it starts before ours is set.
        interruption = stack.enter_context(Interruption())
        progress = stack.enter_context(Progress(f"querying {options.stream}"))
        for note in history.notes:
            progress.note(f"note: {note}")
        output = open_output(
            options.format, file, options.output, options.columns, history.schema, history.fields
        )
        try:
            write_all(batches, output, options.limit, progress, interruption)
        except Interrupted:
            progress.note(f"interrupted after {progress.summary()}")
            return interruption.exit_status
        finally:
            output.close()
        file.flush()
        if options.output is not None or not sys.stdout.isatty():
            progress.note(progress.summary())
    return 0


def selected(
    history: History, where: str | None, limit: int | None, stack: contextlib.ExitStack
) -> Iterator[pa.RecordBatch]:
    """The entries for which a condition holds, in order.

    Resources end with `stack`. Raises PipelineUnavailable, and QueryFailed, also during iteration.
    """
    if where is None:
        return history.batches()
    try:
        chosen = make_filter(where, history.typed)
        if history.archived is not None:
            history.archived = replace(history.archived, condition=chosen)
        return filtered(history.batches(), chosen)
    except UnknownColumn as error:
        raise QueryFailed(str(error)) from None
    except NeedsSpark as error:
        if importlib.util.find_spec("pyspark") is None:
            raise PipelineUnavailable(f"{error}{NEEDS_SPARK.format(MISSING)}") from None
        print(f"rillway query: {error}{NEEDS_SPARK.format(STARTING)}", file=sys.stderr)
    spark = spark_session("rillway query", conf=SPARK_SETTINGS, quick=True)
    stack.callback(spark.stop)
    if str(spark.sparkContext.master).startswith("local["):
        history.stage(Path(stack.enter_context(TemporaryDirectory(prefix="rillway-query-"))))
    return select(data_frame(history, spark), where, limit, history.schema, history.unit)


def filtered(batches: Iterator[pa.RecordBatch], chosen: Expression) -> Iterator[pa.RecordBatch]:
    """Yield the entries for which a condition holds."""
    for batch in batches:
        yield batch.filter(chosen(batch))


def bounds_of(options: argparse.Namespace, unit: str) -> tuple[int, int]:
    """Return the requested range of IDs. `unit`: the unit of the IDs. Raises QueryFailed."""
    try:
        first, last = in_unit(options.first, unit), in_unit(options.last, unit)
    except ValueError as error:
        raise QueryFailed(f"{options.stream}: {error}") from None
    return (first, last) if options.where is None else narrowed(options.where, first, last, unit)


def narrowed(where: str, first: int, last: int, unit: str = MS) -> tuple[int, int]:
    """Narrow the range to IDs for which the condition can hold. Raises QueryFailed."""
    try:
        found = bounds(where, Reading(zone=UTC, unit=unit))
    except UnreadableLiteral as error:
        raise QueryFailed(str(error)) from None
    if found.first_ms is not None:
        first = max(first, make_id(found.first_ms))
    if found.last_ms is not None:
        last = min(last, make_id(max(found.last_ms, 0), MAX_SEQ))
    return first, last


def write_all(
    batches: Iterator[pa.RecordBatch],
    output: Output,
    limit: int | None,
    progress: Progress,
    interruption: Interruption,
) -> None:
    """Write up to `limit` entries. Raises Interrupted."""
    left = limit
    for batch in batches:
        interruption.check()
        part = batch if left is None else batch.slice(0, left)
        output.write(part)
        progress.advance(len(part))
        if left is not None:
            left -= len(part)
            if not left:
                return


# -- with Spark -----------------------------------------------------------------------------------


def select(
    frame: DataFrame,
    where: str,
    limit: int | None,
    schema: pa.Schema = HISTORY_SCHEMA,
    unit: str = MS,
) -> Iterator[pa.RecordBatch]:
    """The entries for which a condition holds, in order. Raises QueryFailed."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    columns = "stream", "id", "ms", "seq", "ts", EPOCH
    typed = [field for field in schema if field.name not in HISTORY_SCHEMA.names]
    names = [quoted_name(field.name) for field in typed]
    try:
        as_text = *names, f"{AS_TEXT} AS fields", "fields AS raw"
        chosen = frame.selectExpr(*columns, *as_text).where(where)
        ordered = chosen.selectExpr(*columns, *map(_exact, typed), "raw AS fields")
        if limit is not None:
            ordered = ordered.orderBy(EPOCH, "ms", "seq").limit(limit)
        else:
            # One task sorts: a sort by ranges would read everything twice, to find the ranges.
            ordered = ordered.repartition(1).sortWithinPartitions(EPOCH, "ms", "seq")
        rows = ordered.toLocalIterator(prefetchPartitions=True)
        while held := list(islice(rows, BATCH_ROWS)):
            yield to_batch(held, schema, unit)
    except (Py4JError, PySparkException) as error:
        raise QueryFailed(root_cause(error)) from None


def _exact(field: pa.Field) -> str:
    """Return times as numbers: Spark returns them without their zone."""
    name = quoted_name(field.name)
    return f"unix_micros({name}) AS {name}" if pa.types.is_timestamp(field.type) else name


def to_batch(
    rows: Sequence[Row], schema: pa.Schema = HISTORY_SCHEMA, unit: str = MS
) -> pa.RecordBatch:
    """Convert rows of Spark to a batch."""
    columns = {
        name: pa.array([row[name] for row in rows], schema.field(name).type)
        for name in ("stream", "id", "ms", "seq", EPOCH)
    }
    # Spark returns times without their zone, so they are computed again.
    columns["ts"] = timestamps(columns["ms"], unit)
    fields = [[pair.asDict() for pair in row.fields or ()] for row in rows]
    columns["fields"] = pa.array(fields, schema.field("fields").type)
    for field in schema:
        if field.name not in columns:
            values = [_of_row(row[field.name]) for row in rows]
            columns[field.name] = pa.array(values, field.type)
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _of_row(value: Any) -> Any:
    """Convert a value of Spark for Arrow."""
    from pyspark.sql import Row

    if isinstance(value, Row):
        return {name: _of_row(item) for name, item in value.asDict().items()}
    if isinstance(value, dict):
        return [(name, _of_row(item)) for name, item in value.items()]
    if isinstance(value, list):
        return [_of_row(item) for item in value]
    # In a list, map or struct, a time without its zone is of this machine's.
    return value.astimezone(UTC) if isinstance(value, datetime) else value
