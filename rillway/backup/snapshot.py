"""A snapshot of a server, over PSYNC: as a replica gets it, which leaves once it has it.

The server forks, as for a replica, and keeps what is written meanwhile in the output buffer of this
connection (client-output-buffer-limit replica).
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from rillway.backup.manifest import BackupError
from rillway.pipeline.wire.connection import Connection, ServerError, pack
from rillway.pipeline.wire.urls import public_url

OPTIONS = (
    # The oldest Valkey whose snapshots have times of fields; a Redis does not know the option.
    ("version", "9.0.0"),
    ("capa", "eof", "capa", "psync2", "capa", "rillway"),
)
FULL = re.compile(rb"\+FULLRESYNC ([0-9a-fA-F]{40}) (\d{1,18})")
MAX_LINE_BYTES = 1024


def receive_snapshot(url: str, path: Path) -> tuple[str, int]:
    """Receive a snapshot into a file; returns the replication ID, and the offset of its moment.

    Raises BackupError, ConnectionLost, OSError.
    """
    with Connection(url) as link:
        for words in OPTIONS:
            with suppress(ServerError):
                link.call("REPLCONF", *words)
        link.send(pack("PSYNC", "?", "-1"))
        line, rest = _line(link)
        found = FULL.fullmatch(line)
        if found is None:
            said = line.decode(errors="replace").lstrip("-+")
            raise BackupError(f"{public_url(url)}: PSYNC: {said}")
        _receive(link, rest, path)
    return found[1].decode().lower(), int(found[2])


def _line(link: Connection) -> tuple[bytes, bytes]:
    """The reply to PSYNC, and what came after it; empty lines before it are signs of life."""
    received = b""
    while True:
        received = received.lstrip(b"\r\n")
        line, end, rest = received.partition(b"\r\n")
        if end or len(received) > MAX_LINE_BYTES:
            return line, rest
        received += link.receive_raw()


def _receive(link: Connection, data: bytes, path: Path) -> None:
    receiving: Any = import_module("rillway.app.server.replication.replica.reception")
    files: Any = import_module("rillway.app.server.persistence.files").OsFiles()
    reception = receiving.Reception(files, str(path))
    try:
        while True:
            if data:
                reception.feed(data)
            if reception.is_complete:
                return
            data = link.receive_raw()
    except receiving.BadSnapshot as error:
        raise BackupError(f"{public_url(link.url)}: {error}") from None
    finally:
        reception.close()


def count_keys(path: Path) -> dict[str, list[int]]:
    """Keys, and keys with a time to live, of each database of a snapshot.

    It is read as a server would: a damaged one raises BackupError.
    """
    files: Any = import_module("rillway.app.server.persistence.files").OsFiles()
    reading: Any = import_module("rillway.app.storage.snapshot.reader")
    damage = import_module("rillway.app.storage.redis_format.primitives").CorruptSnapshot
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    try:
        reader = reading.SnapshotReader(files.buffer(str(path)), skip_unsupported=True, now_ms=0)
        for part in reader.batches():
            if isinstance(part, reading.SnapshotItem):
                counts[part.db_index][0] += 1
                counts[part.db_index][1] += part.expires_ms is not None
            else:
                counts[part.db_index][0] += len(part.keys)
    except damage as error:
        raise BackupError(f"the snapshot that came is damaged: {error}") from None
    if reader.skipped:
        # A check here, by Rillway, would miss them.
        raise BackupError(f"the snapshot has values that Rillway does not know: {reader.skipped}")
    return {str(index): count for index, count in sorted(counts.items())}
