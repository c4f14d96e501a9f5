"""Adds scheduled entries to their stream when they are due.

An entry is added as by `XADD *` at that moment: its ID is the current time, or the one after the
last ID. Overdue entries (the server was down) appear in the order of their times, with current IDs.

The entry and the end of its ticket are one unit of propagation: XADD with the ID, and a carrier. So
a server that stops in between has either both or neither.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import propagate_carried
from commands.streams.add import append_entry, automatic_id
from commands.streams.idempotence import remember
from commands.streams.policies.carrier import propagate_row
from commands.streams.policies.timer import FEATURES, PolicyTimer, Turn
from storage.entries.entry_id import MAX_ID, format_id
from storage.policies.schedule import Schedule, Scheduled
from storage.stream import Stream

# How many entries of a stream appear in one turn, at most.
ENTRIES_A_TURN = 1000
# After this many the turn may be over.
FEW_ENTRIES = 16


class Appearances:
    """The feature of the timer that adds due entries."""

    def due_ms(self, timer: PolicyTimer, stream: Stream) -> int | None:
        """When the first entry is due, if the stream has IDs left."""
        schedule = None if stream.policy is None else stream.policy.schedule
        return None if schedule is None or stream.last_id == MAX_ID else schedule.next_ms

    def work(self, turn: Turn, key: bytes, stream: Stream) -> None:
        """Add the entries that are due."""
        schedule = None if stream.policy is None else stream.policy.schedule
        if schedule is None:
            return
        count = 0
        while count < ENTRIES_A_TURN and stream.last_id < MAX_ID:
            entry = schedule.take(turn.now_ms)
            if entry is not None:
                _appear(turn.client, key, stream, schedule, entry)
                turn.end_unit()
                count += 1
            elif not schedule.is_due(turn.now_ms):
                return
            if not count % FEW_ENTRIES and turn.is_over():
                return


def _appear(
    client: Client, key: bytes, stream: Stream, schedule: Schedule, entry: Scheduled
) -> None:
    """Add an entry, which was taken from the schedule, to the stream."""
    entry_id = automatic_id(stream.last_id, client.instance.now_ms)
    name = schedule.forget_name(entry.number)
    append_entry(client, key, stream, entry_id, entry.fields, entry.words)
    if client.instance.propagation.sinks:
        writer = client.begin_propagated()
        writer.begin(3 + entry.words)
        writer.word(b"XADD")
        writer.word(key)
        writer.entry_id(entry_id)
        writer.encoded(entry.fields)
        ticket = b"%d" % entry.due_ms, b"%d" % entry.number
        propagate_row(client, key, b"unscheduled", *ticket)
    if name is not None:
        remember(client, stream, *name, entry_id)
        propagate_carried(client, b"XIDMPRECORD", key, *name, format_id(entry_id))


FEATURES.append(Appearances())
