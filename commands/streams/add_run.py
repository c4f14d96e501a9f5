"""Runs of `XADD key * field value ...` that one client sent together, appended as a whole.

Producers send pipelines of the same request again and again. What such requests share is done once
(finding the stream, choosing the first ID, telling those who wait), and their words are turned on
their side, into columns that are checked and encoded one by one.

Guarantees: the same entries, IDs, replies and propagated requests as from one `xadd` after the
other. Leaves out whatever is not plain: options, a stream that is not there yet, names that differ,
somebody who is told of every single change. These are for `xadd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from commands.client import Client
from commands.instance import Instance
from commands.registry import Argv
from commands.streams.add import MAX_ENTRY_BYTES, automatic_id
from storage.entry import Shape, encode_ids
from storage.entry_id import MAX_SEQ
from storage.stream import Stream

# In shorter runs there is nothing to gain.
MIN_REQUESTS = 4


def find_run_end(requests: list[Argv], start: int) -> int:
    """Where the requests end that may be a run from index `start` on; `start` if none may."""
    words = len(requests[start])
    if words < 5 or not words & 1:
        return start
    end = start
    for argv in islice(requests, start, None):
        if argv[0] != b"XADD" or len(argv) != words:
            break
        end += 1
    return end if end - start >= MIN_REQUESTS else start


def xadd_run(client: Client, requests: list[Argv]) -> list[bytes] | None:
    """The replies to requests of the same number of words; None if nothing was done."""
    instance, count = client.instance, len(requests)
    if not _is_unobserved(instance):
        return None
    _, keys, ids, *fields = zip(*requests, strict=True)
    if ids[0] != b"*" or not all(map(_is_uniform, (ids, keys, *fields[::2]))):
        return None
    if sum(sum(map(len, column)) for column in fields) > MAX_ENTRY_BYTES:
        return None  # one of them alone may be too large
    key = keys[0]
    stream = client.lookup_for_write(key)
    if type(stream) is not Stream:
        return None
    first_id = automatic_id(stream, instance.now_ms)
    if (first_id & MAX_SEQ) + count > MAX_SEQ:
        return None  # the IDs would not all be of one millisecond
    id_bulks = encode_ids(first_id, count)
    stream.extend(
        list(range(first_id, first_id + count)),
        Shape([names[0] for names in fields[::2]]).encode_columns(id_bulks, fields[1::2]),
        [argv[3:] for argv in requests],
        instance.config.stream_node_max_entries,
        instance.config.stream_node_max_bytes,
    )
    client.modified(key, count)
    client.signal_key_as_ready(key)
    if instance.sinks:
        _propagate(client, requests, id_bulks)
    return id_bulks


def _is_unobserved(instance: Instance) -> bool:
    """Whether nobody is told of each change by itself, but for sinks."""
    return not (
        instance.watchers or instance.tracking.active or instance.config.notify_keyspace_events
    )


def _is_uniform(column: Sequence[bytes]) -> bool:
    """Whether all words of a column are the same."""
    return column.count(column[0]) == len(column)


def _propagate(client: Client, requests: list[Argv], id_bulks: list[bytes]) -> None:
    """Each request is a unit of its own, as it would be alone."""
    for argv, bulk in zip(requests, id_bulks, strict=True):
        id_text = bulk[bulk.index(b"\n") + 1 : -2]
        client.instance.emit(client.db.index, [[*argv[:2], id_text, *argv[3:]]])
    client.write_offset = client.instance.propagated_units
