"""Writing the data as a file: a snapshot, or the base of an append-only file.

What a child does, and SAVE in the server itself. A file is complete and on disk when the function
returns; where anything fails it is removed again, as far as the disk lets us.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from commands.instance import Instance
from commands.keys.serialization import snapshot_options
from commands.version import REDIS_VERSION
from server.persistence.files import Files, write_all
from storage.append_only.requests import encode_request, select_request
from storage.append_only.rewriting import rebuild_requests
from storage.snapshot.writer import CHUNK_BYTES, standard_aux, write_snapshot

# rdb-save-incremental-fsync and aof-rewrite-incremental-fsync: how much is left to one sync.
SYNC_BYTES = 4 * 1024 * 1024

Write = Callable[[bytes], object]
Report = Callable[[int], object]  # is told how many keys are done, now and then


def write_snapshot_file(
    instance: Instance, files: Files, path: str, report: Report, *, aof_base: bool
) -> None:
    """Write all data as an RDB file. Raises OSError.

    `aof_base`: for an append-only file, and not for `dbfilename`.
    """
    config = instance.config
    options = snapshot_options(config)
    used_bytes = instance.host.facts().resident_bytes
    now_ms = instance.now_ms
    aux = standard_aux(REDIS_VERSION.encode(), now_ms, used_bytes, aof_base=aof_base)
    keys = 0

    def note(keys_done: int) -> None:
        nonlocal keys
        keys = keys_done

    def produce(write: Write) -> None:
        def write_chunk(data: bytes) -> None:
            write(data)
            report(keys)

        databases = instance.databases
        total = write_snapshot(
            databases, write_chunk, options, now_ms=now_ms, aux=aux, progress=note
        )
        report(total)

    incremental = (
        config.aof_rewrite_incremental_fsync if aof_base else config.rdb_save_incremental_fsync
    )
    _write_file(files, path, produce, sync_bytes=SYNC_BYTES if incremental else 0)


def write_requests_file(instance: Instance, files: Files, path: str, report: Report) -> None:
    """Write all data as requests that make it (aof-use-rdb-preamble no). Raises OSError."""

    def produce(write: Write) -> None:
        chunk: list[bytes] = []
        size = 0
        for keys, data in _encoded_requests(instance):
            chunk.append(data)
            size += len(data)
            if size >= CHUNK_BYTES:
                write(b"".join(chunk))
                report(keys)
                chunk.clear()
                size = 0
        write(b"".join(chunk))

    incremental = instance.config.aof_rewrite_incremental_fsync
    _write_file(files, path, produce, sync_bytes=SYNC_BYTES if incremental else 0)


def _encoded_requests(instance: Instance) -> Iterator[tuple[int, bytes]]:
    """(keys begun so far, one request)."""
    keys = 0
    for db in instance.databases:
        if len(db):
            yield keys, select_request(db.index)
        for key in db.values:
            keys += 1
            for request in rebuild_requests(db, key, instance.now_ms):
                yield keys, encode_request(request)


def _write_file(
    files: Files, path: str, produce: Callable[[Write], None], *, sync_bytes: int
) -> None:
    """`sync_bytes`: sync whenever so much is new, so that the last sync is short; 0: only then."""
    try:
        file = files.create(path)
        unsynced = 0

        def write(data: bytes) -> None:
            nonlocal unsynced
            write_all(file, data)
            unsynced += len(data)
            if sync_bytes and unsynced >= sync_bytes:
                file.sync()
                unsynced = 0

        try:
            produce(write)
            file.sync()
        finally:
            file.close()
    except OSError:
        with contextlib.suppress(OSError):
            files.remove(path)
        raise
