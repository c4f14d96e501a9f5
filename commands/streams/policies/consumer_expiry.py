"""Removes idle consumers: CONSUMER-EXPIRY of a group. Rillway's own.

A consumer expires if it has not tried to read or claim for that long, unless a client waits in
XREADGROUP as this consumer, or one of its entries has not reached its deadline: a worker may take
long. Its pending entries are released, keep their delivery counts, and are due at once. In a group
without ACK-WAIT, plain readers would not get released entries, so only consumers without pending
entries expire. A consumer with the empty name stays: on a Redis it owns the released entries.
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

# The shortest time between two checks of a group.
INTERVAL_MS = 100


def next_expiry_ms(policy: GroupPolicy) -> int:
    """The earliest time at which a consumer may expire."""
    return policy.expiry_ms if policy.options.consumer_expiry_ms else NEVER_MS


def expire_consumers(
    turn: Turn, key: bytes, stream: Stream, group: Group, policy: GroupPolicy
) -> None:
    """Remove the consumers that have expired."""
    idle_ms, now_ms = policy.options.consumer_expiry_ms, turn.now_ms
    if not idle_ms or now_ms < policy.expiry_ms:
        return
    waiting = _waiting(turn.client, key, group)
    next_ms = now_ms + idle_ms
    is_any = False  # one is removed in each turn, however long it takes
    for name, consumer in list(group.consumers.items()):
        if is_any and turn.is_over():
            next_ms = 0
            break
        stays_ms = consumer.seen_ms + idle_ms
        if name in waiting or not name:
            stays_ms = max(stays_ms, now_ms + INTERVAL_MS)
        if stays_ms <= now_ms:
            stays_ms = _busy_until_ms(policy, consumer, now_ms)
        if stays_ms > now_ms:
            next_ms = min(next_ms, max(stays_ms, now_ms + INTERVAL_MS))
        elif not consumer.pending_count or policy.options.ack_wait_ms:
            is_any = True
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
    """The consumers of a group for which clients wait in XREADGROUP."""
    blocked = client.instance.feature(BlockedClients)
    found: set[bytes] = set()
    for waiter in blocked.waiters.get((client.db.index, key), ()):
        argv = blocked.clients[waiter].argv
        words = [word.upper() for word in argv]
        place = words.index(b"GROUP") if b"GROUP" in words else len(argv)
        if argv[place + 1 : place + 2] == [group.name]:
            found.update(argv[place + 2 : place + 3])
    return found
