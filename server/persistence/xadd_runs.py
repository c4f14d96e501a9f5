"""Runs of `XADD key <id> field value ...`, appended as a whole.

Nearly all of most append-only files is such runs. Between them and the streams there is nothing to
decide: the IDs are explicit, and a run is taken only if each is above the one before. So a run is
turned on its side, into columns of keys, IDs, names and values, which are checked and encoded
column by column; that takes a quarter of the time of a handler's calls.

Guarantees: a run is appended with the same result as the handler gives request by request, or not
at all. Streams are independent of each other, so each gets its part of the run in one piece.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from commands.client import Client
from commands.registry import Argv
from commands.streams.add import MAX_ENTRY_BYTES
from commands.streams.idempotence import new_stream
from storage.entry import Shape
from storage.entry_id import MIN_ID, SEQ_BITS, EntryID
from storage.stream import Stream

# The first words of the requests, the second words ...
Columns: TypeAlias = "Sequence[Sequence[bytes]]"

# In shorter runs there is nothing to gain.
MIN_REQUESTS = 4

_XADD = (b"XADD", b"xadd")

# IDs in the only form in which they are propagated, small enough for 64 bits, a line for each.
_PLAIN_IDS = re.compile(rb"(?:(?:0|[1-9][0-9]{0,18})-(?:0|[1-9][0-9]{0,18})\n)+")


@dataclass(slots=True)
class _Part:
    """What one stream gets of a run."""

    key: bytes
    id_texts: Sequence[bytes]
    ids: list[EntryID]
    fields: Sequence[Sequence[bytes]]  # a column for each name and each value, in turn


def find_run_end(requests: list[Argv], start: int) -> int:
    """Where the requests end that can be a run from index `start` on; `start` if none can."""
    words = len(requests[start])
    end = start
    for argv in islice(requests, start, None):
        if argv[0] not in _XADD or len(argv) != words:
            break
        end += 1
    return end if end - start >= MIN_REQUESTS else start


def append_run(client: Client, columns: Columns) -> bool:
    """Append requests of the same length, given as the columns of their words.

    False if nothing was done, because one of them is not of the plain form.
    """
    if len(columns) < 5 or not len(columns) & 1 or not _is_same(columns[0], _XADD):
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


def _is_same(column: Sequence[bytes], allowed: Sequence[bytes] = ()) -> bool:
    """Whether a column holds the same word everywhere, and one of those that are allowed."""
    return (not allowed or column[0] in allowed) and column.count(column[0]) == len(column)


def _by_key(columns: Columns) -> list[tuple[bytes, Columns]]:
    """The columns behind the key for each key, by first appearance."""
    _, keys, *others = columns
    if _is_same(keys):
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
    if not all(map(_is_same, fields[::2])):
        return None
    if sum(sum(map(len, column)) for column in fields) > MAX_ENTRY_BYTES:
        return None  # one of them alone may be too large
    ids = _parse_ids(id_texts, MIN_ID if stream is None else stream.last_id)
    return None if ids is None else _Part(key, id_texts, ids, fields)


def _parse_ids(texts: Sequence[bytes], last_id: EntryID) -> list[EntryID] | None:
    """The IDs, if all are plain and each is above the one before."""
    lines = b"\n".join(texts) + b"\n"
    # A text that holds a line end would be two IDs to the pattern.
    if not _PLAIN_IDS.fullmatch(lines) or lines.count(b"\n") != len(texts):
        return None
    halves = lines.replace(b"-", b"\n").split()
    # Many IDs are of the same millisecond.
    starts = {ms: int(ms) << SEQ_BITS for ms in set(halves[::2])}
    ids = [starts[ms] | int(seq) for ms, seq in zip(halves[::2], halves[1::2], strict=True)]
    if ids[0] <= last_id or not all(map(operator.lt, ids, islice(ids, 1, None))):
        return None
    return ids


def _append(client: Client, part: _Part) -> None:
    config = client.instance.config
    stream = client.db.get(part.key)
    if stream is None:
        stream = new_stream(config)
        client.store(part.key, stream)
    assert isinstance(stream, Stream)
    names = [column[0] for column in part.fields[::2]]
    entries = Shape(names).encode_columns_with_texts(part.id_texts, part.fields[1::2])
    fields = list(map(list, zip(*part.fields, strict=True)))
    stream.extend(
        part.ids, entries, fields, config.stream_node_max_entries, config.stream_node_max_bytes
    )
    client.modified(part.key, len(entries))
    client.signal_key_as_ready(part.key)
