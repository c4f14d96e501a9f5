"""Which streams a query reads: those that are named, or those whose names match a pattern."""

from __future__ import annotations

from rillway.pipeline.connection import Connection
from rillway.pipeline.loss import LOG_PREFIX, log

SCAN_COUNT = 1000


def find_streams(connection: Connection, names: tuple[str, ...], pattern: str | None) -> list[str]:
    """The names in order. A pattern is a glob as in KEYS; SCAN is asked, which blocks nobody."""
    return list(names) if pattern is None else sorted(_matching(connection, pattern))


def _matching(connection: Connection, pattern: str) -> set[str]:
    found: set[str] = set()
    cursor = b"0"
    while True:
        request = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT, "TYPE", "stream")
        cursor, keys = connection.call(*request)
        for key in keys:
            try:
                found.add(key.decode())
            except UnicodeDecodeError:
                log.warning("%sleft out, its name is no UTF-8: %r", LOG_PREFIX, key)
        if cursor == b"0":
            return found
