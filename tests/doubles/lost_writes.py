"""A write that its handler does not count is lost: no file and no replica gets it.

Whoever marks nothing as modified gets the right reply, and propagates nothing. So each request that
a test sends by itself to a server in its process is followed by a look at its keys: where they
differ, and nothing was counted or propagated, the test fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commands.core.registry import COMMANDS, WRITE, find
from server.inprocess.server import InProcessClient, Word, to_argv
from storage.keyspace.database import Database
from storage.stream import Stream
from storage.types.value import StringValue, Value

Execute = Callable[..., bytes]


def checked(execute: Execute) -> Execute:
    """`InProcessClient.execute`, which fails if it loses a write."""

    def execute_and_check(client: InProcessClient, *words: Word) -> bytes:
        argv = to_argv(words)
        command = find(argv, COMMANDS)
        if command is None or not command.flags & WRITE or client.state.replays:
            return execute(client, *words)
        instance, db = client.server.instance, client.state.db
        try:
            keys = [argv[position] for position in command.key_positions(argv)]
        except (IndexError, ValueError):  # the request is not valid
            keys = []
        before = [outline(db, key) for key in keys]
        counts = instance.dirty, instance.propagation.units, instance.stats.expired_keys
        reply = execute(client, *words)
        if counts == (instance.dirty, instance.propagation.units, instance.stats.expired_keys):
            assert before == [outline(db, key) for key in keys], f"{argv} is a lost write"
        return reply

    return execute_and_check


def outline(db: Database, key: bytes) -> object:
    """What nearly every write to a value changes, at a small cost."""
    value: Value | None = db.values.get(key)
    if value is None:
        return None
    if isinstance(value, StringValue):
        return value.to_bytes(), db.deadline(key)
    if isinstance(value, Stream):
        groups = [
            (name, group.last_delivered_id, group.entries_read, len(group.pending))
            for name, group in value.groups.items()
        ]
        counters = value.length, value.last_id, value.entries_added, value.max_deleted_id
        return counters, groups, db.deadline(key)
    held: Any = value
    return type(held), len(held), held.memory_bytes(), db.deadline(key)
