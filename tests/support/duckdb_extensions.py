"""DuckDB with its extensions for Delta and Iceberg, which come as packages: no INSTALL."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import duckdb

# It reads manifests by the first one.
ICEBERG = ("avro", "iceberg")
DELTA = ("delta",)


@cache
def connect(extensions: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    """One for all tests of a process: to load an extension takes up to a second."""
    connection = duckdb.connect()
    for name in extensions:
        [path] = (files(f"duckdb_extension_{name}") / "extensions").iterdir()
        connection.load_extension(str(path / f"{name}.duckdb_extension"))
    connection.execute("SET TimeZone = 'UTC'")
    return connection
