"""Runs of `XADD key <id> field value ...`, appended as a whole.

Nearly all of most append-only files is such runs. Between them and the streams there is nothing to
decide: the IDs are explicit, and a run is taken only if each is above the one before. So a run is
turned on its side, into columns of keys, IDs, names and values, which are checked and encoded
column by column; that takes a quarter of the time of a handler's calls.

Guarantees: a run is appended with the same result as the handler gives request by request, or not
at all. Streams are independent of each other, so each gets its part of the run in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from commands.client import Client
from commands.streams.add import MAX_ENTRY_BYTES
from commands.streams.add_each import XADD
from commands.streams.add_run import parse_ids
from commands.streams.idempotence import new_stream
from protocol.request_runs import MIN_REQUESTS
from storage.additions import Additions, is_uniform
from storage.entry import Shape
from storage.entry_id import MIN_ID, EntryID
from storage.stream import Stream

# The first words of the requests, the second words ...
Columns: TypeAlias = "Sequence[Sequence[bytes]]"


@dataclass(slots=True)
class _Part:
    """What one stream gets of a run."""

    key: bytes
    id_texts: Sequence[bytes]
    ids: list[EntryID]
    fields: Sequence[Sequence[bytes]]  # a column for each name and each value, in turn


def append_run(client: Client, columns: Columns) -> bool:
    """Append requests of the same length, given as the columns of their words.

    False if nothing was done, because one of them is not of the plain form.
    """
    if len(columns) < 5 or not len(columns) & 1:
        return False
    if columns[0][0] not in XADD or not is_uniform(columns[0]):
        return False
    if len(set(columns[1])) * MIN_REQUESTS > len(columns[1]):
        return False  # a run for so many streams is no run for any of them
    parts: list[_Part] = []
    for key, part_columns in _by_key(columns):
        part = _check(client, key, part_columns)
        if part is None:
            return False
        parts.append(part)
    for part in parts:
        _append(client, part)
    return True


def _by_key(columns: Columns) -> list[tuple[bytes, Columns]]:
    """The columns behind the key for each key, by first appearance."""
    _, keys, *others = columns
    if is_uniform(keys):
        return [(keys[0], others)]
    rows: dict[bytes, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return [
        (key, [list(map(column.__getitem__, key_rows)) for column in others])
        for key, key_rows in rows.items()
    ]


def _check(client: Client, key: bytes, columns: Columns) -> _Part | None:
    """The part of one key, if it can be appended as it is."""
    stream = client.lookup_for_write(key)
    if stream is not None and type(stream) is not Stream:
        return None
    id_texts, *fields = columns
    if not all(map(is_uniform, fields[::2])):
        return None
    if sum(sum(map(len, column)) for column in fields) > MAX_ENTRY_BYTES:
        return None  # one of them alone may be too large
    ids = parse_ids(id_texts, MIN_ID if stream is None else stream.last_id)
    return None if ids is None else _Part(key, id_texts, ids, fields)


def _append(client: Client, part: _Part) -> None:
    config = client.instance.config
    stream = client.db.get(part.key)
    if stream is None:
        stream = new_stream(config)
        client.store(part.key, stream)
    assert isinstance(stream, Stream)
    names = [column[0] for column in part.fields[::2]]
    entries = Shape(names).encode_columns_with_texts(part.id_texts, part.fields[1::2])
    limits = config.stream_node_max_entries, config.stream_node_max_bytes
    stream.extend(Additions.of_columns(part.ids, entries, part.fields), *limits)
    client.modified(part.key, len(entries))
    client.signal_key_as_ready(part.key)
