"""DuckDB with its extensions for Delta and Iceberg, which come as packages: no INSTALL."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import duckdb

# It reads manifests by the first one.
ICEBERG = ("avro", "iceberg")
DELTA = ("delta",)


@cache
def connect(extensions: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    """One for all tests of a process: to load an extension takes up to a second."""
    connection = duckdb.connect()
    for name in extensions:
        connection.load_extension(str(_file_of(name)))
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def install_extensions(folder: Path) -> None:
    """As INSTALL would, of DuckDB with `folder` as its extension_directory."""
    [(platform,)] = duckdb.connect().execute("PRAGMA platform").fetchall()
    for name in (*ICEBERG, *DELTA):
        file = _file_of(name)
        place = folder / file.parent.name / platform
        place.mkdir(parents=True, exist_ok=True)
        (place / file.name).symlink_to(file)


def _file_of(name: str) -> Path:
    [folder] = (Path(str(files(f"duckdb_extension_{name}"))) / "extensions").iterdir()
    return folder / f"{name}.duckdb_extension"
