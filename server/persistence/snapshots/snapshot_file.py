"""Writes the data to a file: a snapshot, or the base of an append-only file.

Called in a child, and by SAVE in the server itself. The file is complete and synced when a function
returns; if anything fails, the file is removed again, as far as the disk permits.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator

from commands.connection.client_memory import MemoryUse
from commands.core.host import REDIS_VERSION
from commands.core.instance import Instance
from commands.core.server_state import ReplicationState
from commands.keys.serialization import snapshot_options
from commands.scripting.evaluation import Scripting
from server.clock import delay_us
from server.persistence.files import Files, write_all
from storage.append_only.requests import encode_request, select_request, timestamp_annotation
from storage.append_only.rewrite import rebuild_requests
from storage.keyspace.database import Database
from storage.nodes.listpack_node import DamagedNode
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.opcodes import STREAM_2, STREAM_3
from storage.snapshot.writer import CHUNK_BYTES, KEYS_PER_REPORT, standard_aux, write_snapshot

# rdb-save-incremental-fsync and aof-rewrite-incremental-fsync: begin to sync after this many bytes.
# To wait for it each time would commit the journal of the file system each time, and others that
# append to a file meanwhile wait for that.
SYNC_BYTES = 4 * 1024 * 1024

# repl-snapshot-version: the RDB type of streams, which determines the version of the format.
_STREAM_TYPES = {"7.0": STREAM_2, "7.2": STREAM_3, "auto": None}

Write = Callable[[bytes], object]
Report = Callable[[int], object]  # called from time to time with the number of keys done


def write_snapshot_file(
    instance: Instance, files: Files, path: str, report: Report, *, aof_base: bool
) -> None:
    """Write all data as an RDB file. Raises OSError.

    `aof_base`: for an append-only file, and not for `dbfilename`.
    """
    config = instance.config
    options = snapshot_options(config)
    aux = _aux(instance, aof_base=aof_base)

    def produce(write: Write) -> None:
        _write_snapshot(instance, instance.databases, write, report, options, aux)

    incremental = (
        config.aof_rewrite_incremental_fsync if aof_base else config.rdb_save_incremental_fsync
    )
    _write_file(files, path, produce, sync_bytes=SYNC_BYTES if incremental else 0)


def write_replica_snapshot(
    instance: Instance,
    write: Write,
    report: Report,
    *,
    for_rillway: bool,
    for_valkey: bool,
    with_keys: bool,
    with_functions: bool,
) -> None:
    """Write all data for a replica: in Valkey's format, that of `repl-snapshot-version`, or
    the newest.
    """
    options = snapshot_options(instance.config)
    if not for_rillway:
        kind = None if for_valkey else _STREAM_TYPES[instance.config.repl_snapshot_version]
        stream_type = STREAM_3 if for_valkey else kind or options.stream_type
        options = SnapshotOptions(
            compress=options.compress,
            checksum=options.checksum,
            stream_type=stream_type,
            for_valkey=for_valkey or (options.for_valkey and kind is None),
            keeps_idle_times=options.keeps_idle_times,
            keeps_frequencies=options.keeps_frequencies,
        )
    databases = instance.databases if with_keys else []
    aux = _aux(instance, aof_base=False)
    _write_snapshot(instance, databases, write, report, options, aux, with_functions=with_functions)


def _write_snapshot(
    instance: Instance,
    databases: list[Database],
    write: Write,
    report: Report,
    options: SnapshotOptions,
    aux: dict[bytes, bytes],
    *,
    with_functions: bool = True,
) -> None:
    keys = 0
    delay = instance.config.rdb_key_save_delay

    def note(keys_done: int) -> None:
        nonlocal keys
        if delay:
            instance.host.pause(delay_us(delay, keys_done - keys) / 1e6)
        keys = keys_done

    def write_chunk(data: bytes) -> None:
        write(data)
        report(keys)

    report(
        write_snapshot(
            databases,
            write_chunk,
            options,
            now_ms=instance.now_ms,
            aux=aux,
            libraries=_libraries(instance) if with_functions else (),
            progress=note,
            keys_per_report=1 if delay > 0 else KEYS_PER_REPORT,
        )
    )


def _libraries(instance: Instance) -> list[bytes]:
    scripting = instance.feature_if_used(Scripting)
    return [] if scripting is None else scripting.library_codes()


def _aux(instance: Instance, *, aof_base: bool) -> dict[bytes, bytes]:
    """The header: version, time, and the replication ID and offset."""
    used_bytes = instance.feature(MemoryUse).used_bytes()
    history = {} if aof_base else history_aux(instance.replication)
    return standard_aux(
        REDIS_VERSION.encode(), instance.now_ms, used_bytes, history, aof_base=aof_base
    )


def history_aux(state: ReplicationState) -> dict[bytes, bytes]:
    """Replication ID, offset and database, so that replication can resume; {} without a backlog."""
    if state.backlog is None:
        return {}
    return {
        b"repl-stream-db": b"%d" % state.stream_db,
        b"repl-id": state.replication_id.encode(),
        b"repl-offset": b"%d" % state.offset,
    }


def write_requests_file(instance: Instance, files: Files, path: str, report: Report) -> None:
    """Write all data as requests that rebuild it (aof-use-rdb-preamble no). Raises OSError."""

    def produce(write: Write) -> None:
        chunk: list[bytes] = []
        if instance.config.aof_timestamp_enabled:
            chunk.append(timestamp_annotation(instance.now_ms // 1000))
        size = begun = 0
        delay = instance.config.rdb_key_save_delay
        for keys, data in _encoded_requests(instance):
            if delay and keys > begun:
                instance.host.pause(delay_us(delay, keys - begun) / 1e6)
                begun = keys
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
    """(keys begun so far, one request). Raises OSError if a stream is damaged."""
    keys = 0
    for code in _libraries(instance):
        yield keys, encode_request([b"FUNCTION", b"LOAD", code])
    for db in instance.databases:
        if len(db):
            yield keys, select_request(db.index)
        for key in db:
            keys += 1
            try:
                for request in rebuild_requests(db, key, instance.now_ms):
                    yield keys, encode_request(request)
            except DamagedNode as error:
                where = f"stream '{instance.shown(key)}' of database {db.index} is damaged"
                raise OSError(errno.EIO, f"{where}: {error}") from None


def _write_file(
    files: Files, path: str, produce: Callable[[Write], None], *, sync_bytes: int
) -> None:
    """Write and sync a file. `sync_bytes`: begin to sync each time after that many; 0: never."""
    try:
        file = files.create(path)
        unsynced = 0

        def write(data: bytes) -> None:
            nonlocal unsynced
            write_all(file, data)
            unsynced += len(data)
            if sync_bytes and unsynced >= sync_bytes:
                file.begin_sync()
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
