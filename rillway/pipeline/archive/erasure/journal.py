"""Journals of erased entries: their streams, epochs and IDs, nothing of their content.

A journal is a file `_rillway/erased-<63 random bits>.parquet`. It never changes and is on disk
before a commit names it in the records of its streams. An erased entry that comes back (from a
replica, a restored snapshot or a backup) is recognised by its ID on the line of its epoch.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from rillway.pipeline.archive.files.store import (
    ArchiveError,
    Store,
    StoreFailed,
    check_answered,
    os_sentence,
    reason_of,
)
from rillway.pipeline.archive.identity.epochs import Epoch, StreamRecord, line_of
from rillway.pipeline.archive.identity.state_files import BITS, FOLDER
from rillway.pipeline.wire.ids import format_id, parse_id

PREFIX, SUFFIX = "erased-", ".parquet"
SCHEMA = pa.schema([("stream", pa.string()), ("epoch", pa.int32()), ("id", pa.string())])
REFS = b"rillway.refs"
# IDs by stream and epoch.
Entries: TypeAlias = Mapping[str, Mapping[int, frozenset[int]]]


@dataclass(frozen=True, slots=True)
class Journal:
    """The entries that one run has erased. `refs`: what was done about references of groups."""

    entries: Entries
    refs: str = ""


def path_of(number: int) -> str:
    return f"{FOLDER}/{PREFIX}{number:016x}{SUFFIX}"


def new_number() -> int:
    return secrets.randbits(BITS)


def write_journal(store: Store, number: int, journal: Journal) -> None:
    """Write a journal, and sync it. Raises StoreFailed."""
    rows = [
        {"stream": stream, "epoch": epoch, "id": format_id(entry_id)}
        for stream, epochs in sorted(journal.entries.items())
        for epoch, ids in sorted(epochs.items())
        for entry_id in sorted(ids)
    ]
    table = pa.Table.from_pylist(rows, SCHEMA.with_metadata({REFS: journal.refs.encode()}))
    path = path_of(number)
    store.make_parent(path)
    try:
        pq.write_table(table, path, filesystem=store.filesystem, write_page_checksum=True)
        store.settle(path)
    except OSError as error:
        raise StoreFailed(f"{store}: {os_sentence(error)}") from None


@lru_cache(maxsize=64)
def read_journal(store: Store, number: int) -> Journal:
    """Return a journal. Raises ArchiveError."""
    path = path_of(number)
    try:
        with pq.ParquetFile(
            path, filesystem=store.filesystem, page_checksum_verification=True
        ) as parquet:
            rows = parquet.read()
        found: dict[str, dict[int, set[int]]] = {}
        columns = (rows.column(name).to_pylist() for name in SCHEMA.names)
        for stream, epoch, entry_id in zip(*columns, strict=True):
            found.setdefault(stream, {}).setdefault(epoch, set()).add(parse_id(entry_id))
        refs = (rows.schema.metadata or {}).get(REFS, b"").decode()
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        check_answered(store, path, error)
        raise ArchiveError(
            f"{store}: {path}, the journal of erased entries: {reason_of(error)}; restore it from "
            "a backup of the archive"
        ) from None
    return Journal(frozen(found), refs)


def frozen(entries: Mapping[str, Mapping[int, Iterable[int]]]) -> Entries:
    return {
        stream: {epoch: frozenset(ids) for epoch, ids in epochs.items()}
        for stream, epochs in entries.items()
    }


def united(*parts: Entries) -> Entries:
    """Return the union of entries."""
    found: dict[str, dict[int, set[int]]] = {}
    for part in parts:
        for stream, epochs in part.items():
            for epoch, ids in epochs.items():
                found.setdefault(stream, {}).setdefault(epoch, set()).update(ids)
    return frozen(found)


def counts(entries: Entries) -> dict[str, int]:
    """Return the number of entries by stream, without streams that have none."""
    found = {name: sum(map(len, epochs.values())) for name, epochs in entries.items()}
    return {name: number for name, number in found.items() if number}


def count(entries: Entries) -> int:
    return sum(counts(entries).values())


def numbers(store: Store) -> list[int]:
    """Return the numbers of all journals. Raises OSError."""
    return [
        int(name[len(PREFIX) : -len(SUFFIX)], 16)
        for name in sorted(info.base_name for info in store.listed(FOLDER))
        if name.startswith(PREFIX) and name.endswith(SUFFIX)
    ]


# -- the entries of a stream ----------------------------------------------------------------------


def erased(store: Store, stream: str, record: StreamRecord | None) -> Mapping[int, frozenset[int]]:
    """Return the erased IDs of a stream by epoch. Raises ArchiveError."""
    if record is None or not record.erasures:
        return {}
    parts = (read_journal(store, number).entries for number in record.erasures)
    return united(*({stream: part.get(stream, {})} for part in parts)).get(stream, {})


def all_erased(store: Store, records: Mapping[str, StreamRecord]) -> Entries:
    """Return the erased entries of all streams. Raises ArchiveError."""
    found = {name: erased(store, name, record) for name, record in records.items()}
    return {name: by_epoch for name, by_epoch in found.items() if by_epoch}


def erased_on_line(
    store: Store, stream: str, record: StreamRecord | None, epoch: int | None = None
) -> frozenset[int]:
    """Return the erased IDs of the line of an epoch, or of the present one. Raises ArchiveError."""
    by_epoch = erased(store, stream, record)
    if record is None or not by_epoch:
        return frozenset()
    state = record.state
    return on_line(by_epoch, state.epochs, state.present.number if epoch is None else epoch)


def on_line(
    by_epoch: Mapping[int, frozenset[int]], epochs: Iterable[Epoch], epoch: int
) -> frozenset[int]:
    """Return those of a stream's IDs that are on the line of an epoch."""
    return frozenset(
        entry_id
        for number, until in line_of(tuple(epochs), epoch)
        for entry_id in by_epoch.get(number, ())
        if entry_id <= until
    )
