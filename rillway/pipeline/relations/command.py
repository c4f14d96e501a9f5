"""`rillway sql`: the answer to a question in SQL, over archive and memory.

The result goes to standard output or to a file; progress goes to standard error. Exits with 0, 1 if
it cannot go on, 2 for a wrong statement or argument, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.pipeline.archive.identity.recognition import Refused
from rillway.pipeline.archive.pins import PinLost
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.cli.interruption import SIGNALS
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.query.output import cell_texts, json_texts
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.relations.answer import Answer, SqlFailed, SqlUnavailable, sql
from rillway.pipeline.relations.arguments import parse_options
from rillway.pipeline.wire.connection import ConnectionLost, ServerError

EXPECTED_ERRORS = (
    ArchiveError,
    ConnectionLost,
    DataLost,
    OSError,
    PinLost,
    Refused,
    ServerError,
    SqlUnavailable,
)


def main(arguments: list[str]) -> int:
    """Answer one statement. Returns the exit status."""
    options = parse_options(arguments)
    received: list[int] = []
    try:
        with ended_by_signals(received):
            return run(options)
    except (*EXPECTED_ERRORS, KeyboardInterrupt, RuntimeError, SqlFailed) as error:
        # DuckDB makes an error of its own of one that comes while it computes.
        if received:
            return 128 + received[0]
        if not isinstance(error, (*EXPECTED_ERRORS, SqlFailed)):
            raise
        print(f"rillway sql: {error}", file=sys.stderr)
        return 2 if isinstance(error, SqlFailed) and error.is_wrong else 1


@contextlib.contextmanager
def ended_by_signals(received: list[int]) -> Iterator[None]:
    """Let signals raise KeyboardInterrupt, which DuckDB looks for while it computes.

    So streams are no longer held when the command ends. The signals are noted in `received`.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    chosen = [n for n in SIGNALS if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in chosen}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(options: argparse.Namespace) -> int:
    """Read the result and write it."""
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("reading"))
        reader = sql(
            options.text,
            archive=options.archive,
            url=options.url,
            epochs=options.epochs,
            memory=options.memory,
            storage_options=options.storage_options,
            advanced=progress.advance,
            note=lambda text: progress.note(f"note: {text}"),
        )
        stack.callback(reader.close)
        file = sys.stdout
        if options.output is not None and options.format != "parquet":
            file = stack.enter_context(options.output.open("w", encoding="utf-8", newline=""))
        write_result(reader, options.format, file, options.output)
        file.flush()
        if options.output is not None or not sys.stdout.isatty():
            progress.note(progress.summary())
    return 0


def write_result(reader: Answer, form: str, file: TextIO, path: Path | None) -> None:
    """Write a result with columns of any names and types."""
    if form == "parquet":
        assert path is not None
        with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)
        return
    lines = {"csv": csv_rows, "json": json_lines, "table": table_lines}[form]
    for text in lines(reader, file):
        file.write(text)


def json_lines(reader: Answer, _file: TextIO) -> Iterator[str]:
    """Yield an object for each row. The last of columns with one name counts, as in JSON."""
    names = [json.dumps(name, ensure_ascii=False) for name in reader.schema.names]
    for batch in reader:
        columns = [json_texts(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            pairs = ", ".join(f"{name}: {value}" for name, value in zip(names, row, strict=True))
            yield f"{{{pairs}}}\n"


def csv_rows(reader: Answer, file: TextIO) -> Iterator[str]:
    """Write rows, the names first."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(reader.schema.names)
    for batch in reader:
        writer.writerows(zip(*map(cell_texts, batch.columns), strict=True))
    yield ""


def table_lines(reader: Answer, _file: TextIO) -> Iterator[str]:
    """Yield lines with columns as wide as the first batch needs, numbers to the right."""
    names = reader.schema.names
    right = [_is_number(field.type) for field in reader.schema]
    widths: list[int] = []
    for batch in reader:
        columns = list(map(cell_texts, batch.columns))
        if not widths:
            widths = [max(map(len, [n, *c])) for n, c in zip(names, columns, strict=True)]
            yield _line(names, widths, right)
        for row in zip(*columns, strict=True):
            yield _line(row, widths, right)
    if not widths:
        yield _line(names, list(map(len, names)), right)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if is_right else cell.ljust(width)
        for cell, width, is_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip() + "\n"
