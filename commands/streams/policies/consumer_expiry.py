"""Consumers that are gone: CONSUMER-EXPIRY of a group. Rillway's own.

A consumer that has not tried to read or claim for that long leaves its group, unless a client waits
in XREADGROUP as this consumer, or an entry of it is before its deadline: workers may take long.
What is pending for it is released, with the delivery counts that it has, and due at once. In a
group without ACK-WAIT, released entries would reach no plain reader, so that only consumers without
pending entries leave. A consumer with the empty name stays: a Redis has what is released as its.
"""

from __future__ import annotations

from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client
from commands.streams.groups.group import release_pending, remove_consumer
from commands.streams.policies.timer import Turn
from storage.entries.entry_id import MIN_ID
from storage.groups.group import Consumer, Group
from storage.policies.due_entries import NEVER_MS
from storage.policies.group_policy import GroupPolicy
from storage.stream import Stream

# A group is looked at this often at most.
INTERVAL_MS = 100


def next_expiry_ms(policy: GroupPolicy) -> int:
    """When a consumer may be gone, at the earliest."""
    return policy.expiry_ms if policy.options.consumer_expiry_ms else NEVER_MS


def expire_consumers(
    turn: Turn, key: bytes, stream: Stream, group: Group, policy: GroupPolicy
) -> None:
    """Remove the consumers that are gone."""
    idle_ms, now_ms = policy.options.consumer_expiry_ms, turn.now_ms
    if not idle_ms or now_ms < policy.expiry_ms:
        return
    waiting = _waiting(turn.client, key, group)
    next_ms = now_ms + idle_ms
    for name, consumer in list(group.consumers.items()):
        gone_ms = max(consumer.seen_ms + idle_ms, _busy_until_ms(policy, consumer, now_ms))
        if gone_ms > now_ms or name in waiting or not name:
            next_ms = min(next_ms, max(gone_ms, now_ms + INTERVAL_MS))
        elif turn.is_over():
            next_ms = 0
            break
        elif not consumer.pending_count or policy.options.ack_wait_ms:
            release_pending(turn.client, key, stream, group, consumer)
            turn.client.propagate(b"XGROUP", b"DELCONSUMER", key, group.name, name)
            remove_consumer(turn.client, key, stream, group, name)
            policy.consumers_expired += 1
            turn.end_unit()
    policy.expiry_ms = next_ms


def _busy_until_ms(policy: GroupPolicy, consumer: Consumer, now_ms: int) -> int:
    """The deadline of an entry that the consumer may be working on; 0 if there is none."""
    if policy.options.ack_wait_ms and consumer.pending_count:
        for row in consumer.pending.rows_from(MIN_ID):
            deadline_ms = policy.due.deadline_ms(row)
            if deadline_ms > now_ms:
                return deadline_ms
    return 0


def _waiting(client: Client, key: bytes, group: Group) -> set[bytes]:
    """The consumers of a group as whom clients wait in XREADGROUP."""
    blocked = client.instance.feature(BlockedClients)
    found: set[bytes] = set()
    for waiter in blocked.waiters.get((client.db.index, key), ()):
        argv = blocked.clients[waiter].argv
        words = [word.upper() for word in argv]
        place = words.index(b"GROUP") if b"GROUP" in words else len(argv)
        if argv[place + 1 : place + 2] == [group.name]:
            found.update(argv[place + 2 : place + 3])
    return found
