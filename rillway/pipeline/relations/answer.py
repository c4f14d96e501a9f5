"""The answer to a statement in SQL over archive and memory, by DuckDB.

Each stream that a statement names is a relation (relation.py), held from before the first row is
read to after the last one, as in a query of one stream: so each entry is there once, whatever is
archived and trimmed meanwhile.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa

from rillway.pipeline.archive.limits import ALL
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.history import open_history
from rillway.pipeline.ranges.discovery import kinds_of
from rillway.pipeline.relations.relation import Reads, StreamDataset
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.urls import DEFAULT_URL

if TYPE_CHECKING:
    import duckdb

EXTRA_MISSING = "this needs DuckDB: pip install 'rillway[sql]'"
RESULT_ROWS = 10_000


class SqlFailed(Exception):
    """A statement cannot be answered; the message is DuckDB's. `is_wrong`: it is no SQL."""

    def __init__(self, text: str, *, is_wrong: bool = False) -> None:
        super().__init__(text)
        self.is_wrong = is_wrong


class SqlUnavailable(Exception):
    """DuckDB is missing; the text says what to install."""


class Answer:
    """A result as a stream of Arrow batches, which Arrow, pandas, polars and DuckDB take.

    The streams are held until it is read to its end, or closed, also as a context manager.
    """

    def __init__(
        self, schema: pa.Schema, batches: Generator[pa.RecordBatch | None, None, None]
    ) -> None:
        next(batches)  # one that has not begun would not let go of the streams when it is closed
        self._batches = batches
        self._reader = pa.RecordBatchReader.from_batches(schema, batches)

    @property
    def schema(self) -> pa.Schema:
        return self._reader.schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._reader

    def read_all(self) -> pa.Table:
        """Return all rows."""
        return self._reader.read_all()

    def close(self) -> None:
        """Let go of the streams."""
        self._batches.close()

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sql(
    text: str,
    *,
    archive: str | Path | None = None,
    url: str = DEFAULT_URL,
    epochs: str = ALL,
    memory: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    advanced: Callable[[int], None] = lambda rows: None,
    note: Callable[[str], None] = lambda text: None,
) -> Answer:
    """Return the result of one statement, as a stream of Arrow batches.

    Each stream is a relation of its name: `SELECT count(*) FROM orders`. The streams are held until
    the result is read to its end or closed. `epochs`: `all`, or `current` for the history that
    leads to the streams in memory; `memory`: what DuckDB may use, such as `2GB`; `advanced`: called
    with numbers of rows that were read; `note`: called with sentences.

    Raises SqlUnavailable, SqlFailed and the errors of `open_history`, also while it is read.
    """
    with ExitStack() as stack:
        connection = _connected(stack, memory)
        # A signal finds the main thread waiting in Python, not within DuckDB.
        worker = stack.enter_context(ThreadPoolExecutor(1))
        reads = Reads(advanced)
        tables = _tables(connection, text)
        # Others are files, or DuckDB says that there is no such table.
        for name in _streams(url, archive, sorted(tables), storage_options):
            history = stack.enter_context(
                open_history(
                    url, name, archive, epochs=epochs, storage_options=storage_options, say=note
                )
            )
            for each in history.notes:
                note(each)
            connection.register(name, StreamDataset(history, reads))
        stack.callback(connection.interrupt)
        reader = _executed(connection, text, reads, worker)
        return Answer(reader.schema, _held(reader, reads, worker, stack.pop_all()))


def _connected(stack: ExitStack, memory: str | None) -> duckdb.DuckDBPyConnection:
    """Return a database in memory, which spills to a temporary folder."""
    try:
        import duckdb
    except ImportError:
        raise SqlUnavailable(EXTRA_MISSING) from None
    folder = stack.enter_context(TemporaryDirectory(prefix="rillway-sql-"))
    settings: dict[str, str | bool | int | float | list[str]] = {
        # Names are streams, tables and files, not variables of Python.
        "python_enable_replacements": "false",
        "temp_directory": os.fspath(folder),
    }
    if memory is not None:
        settings["memory_limit"] = memory
    try:
        connection = stack.enter_context(duckdb.connect(config=settings))
        connection.execute("SET TimeZone = 'UTC'")
    except duckdb.Error as error:
        raise SqlFailed(str(error), is_wrong=True) from None
    return connection


def _tables(connection: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """Return the names of tables, files and the like in a statement. Raises SqlFailed."""
    import duckdb

    try:
        if (number := len(connection.extract_statements(text))) != 1:
            raise SqlFailed(f"{number} statements: one is answered at a time", is_wrong=True)
        parsed = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text])
        tree = json.loads(parsed.fetchall()[0][0])
    except duckdb.Error as error:
        raise SqlFailed(str(error), is_wrong=True) from None
    if tree["error"]:
        raise SqlFailed("only a SELECT is answered", is_wrong=True)
    return set(_named(tree))


def _named(node: object) -> Iterator[str]:
    """Yield the names of tables in a tree of DuckDB's parser."""
    if isinstance(node, list):
        for each in node:
            yield from _named(each)
    elif isinstance(node, dict):
        if node.get("type") == "BASE_TABLE" and node.get("schema_name") in ("", "main"):
            yield node["table_name"]
        for each in node.values():
            yield from _named(each)


def _streams(
    url: str, archive: str | Path | None, names: Sequence[str], options: Mapping[str, str] | None
) -> list[str]:
    """Return the names of streams, archived ones or in memory. Raises SqlFailed."""
    archived = {} if archive is None else ArchiveTable.open(archive, options).records
    with connect(url) as connection:
        kinds = kinds_of(connection, names)
    found = [name for name in names if name in archived or kinds[name] == "stream"]
    for one, other in pairwise(sorted(found, key=str.lower)):
        if one.lower() == other.lower():
            raise SqlFailed(
                f"{one} and {other}: DuckDB does not tell names apart by case, so one statement "
                "cannot have both streams"
            )
    return found


def _executed(
    connection: duckdb.DuckDBPyConnection, text: str, reads: Reads, worker: ThreadPoolExecutor
) -> pa.RecordBatchReader:
    import duckdb

    try:
        worker.submit(connection.execute, text).result()
        return connection.to_arrow_reader(RESULT_ROWS)
    except duckdb.Error as error:
        wrong = duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException
        failure = SqlFailed(str(error), is_wrong=isinstance(error, wrong))
        raise reads.error or failure from None


def _held(
    reader: pa.RecordBatchReader, reads: Reads, worker: ThreadPoolExecutor, stack: ExitStack
) -> Generator[pa.RecordBatch | None, None, None]:
    """Yield None, then a result, and let go of the streams at its end."""
    with stack:
        yield None
        try:
            while (batch := worker.submit(next, reader, None).result()) is not None:
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise reads.error or SqlFailed(str(error)) from None
