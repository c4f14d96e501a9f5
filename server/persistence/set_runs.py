"""Runs of `SET key value`, taken as a whole.

Guarantees: the same result as the handler gives request by request, or none at all. A run is taken
if none of its keys has a time to live, and nobody is told of single keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from commands.client import Client
from commands.registry import Argv
from storage.strings import StringValue

# In shorter runs there is nothing to gain.
MIN_REQUESTS = 4

_WORDS = 3


def find_sets_end(requests: Sequence[Argv], start: int) -> int:
    """Where the SETs end that can be a run from index `start` on; `start` if none can."""
    end = start
    for argv in islice(requests, start, None):
        if argv[0] != b"SET" or len(argv) != _WORDS:
            break
        end += 1
    return end if end - start >= MIN_REQUESTS else start


def take_sets(client: Client, run: Sequence[Argv]) -> bool:
    """Set all keys of a run. False if nothing was done."""
    return take_set_columns(client, list(zip(*run, strict=True)))


def take_set_columns(client: Client, columns: Sequence[Sequence[bytes]]) -> bool:
    """Set all keys of requests of the same length, given as the columns of their words.

    False if nothing was done, because they are no such run.
    """
    if len(columns) != _WORDS or columns[0].count(b"SET") != len(columns[0]):
        return False
    instance, db = client.instance, client.db
    if instance.watchers or instance.tracking.active or instance.blocked.waiters:
        return False
    # Of a key that comes twice the last value stays; its place is where it came first.
    contents = dict(zip(columns[1], columns[2], strict=True))
    if not db.expires.keys().isdisjoint(contents):
        return False
    now_ms = instance.now_ms
    old = db.values.keys() & contents.keys()
    new = [key for key in contents if key not in old] if old else list(contents)
    db.add_all(new, [StringValue(contents[key], now_ms) for key in new])
    for key in old:
        db.set(key, StringValue(contents[key], now_ms))
    instance.dirty += len(columns[0])
    return True
