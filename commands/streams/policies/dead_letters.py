"""Dead letters: entries that a group gives up. Rillway's own.

An entry whose last delivery (MAX-DELIVERIES) has ended without an acknowledgement moves to another
stream of the database: XADD there and XACK in the group are one unit, for files and replicas, too.
The stream's journal of acknowledgements records it (commands/streams/groups/ack_journal.py).
The entry itself stays in its stream, for other groups. The dead letter has its fields, and then

    rillway-stream, rillway-group, rillway-id    where it comes from
    rillway-consumer                             its last owner; empty if it had been released
    rillway-deliveries, rillway-delivered        how often, and when it was last delivered (Unix ms)
    rillway-cause                                deadline: it was not acknowledged in time; failed,
                                                 fatal: what a consumer said (XNACK)
    rillway-error                                the reason that XNACK gave, or else the cause
    rillway-hops                                 how often it has become a dead letter

in place of fields of these names.

If there can be no dead letter, because its key holds another type or the user who configured it has
lost the right to write there, the entry stays pending and is not delivered. That is counted and
logged, and tried again after every ACK-WAIT. A limit of memory (maxmemory) is no obstacle.

An entry without content (deleted from its stream) is dropped instead.
"""

from __future__ import annotations

from commands.acl.access_control import AccessControl
from commands.acl.selectors import WRITE
from commands.core.client import Client
from commands.streams.add import append_entry, automatic_id, created_stream
from commands.streams.groups.ack_journal import record
from commands.streams.groups.delivery import group_changed, propagate_removals
from commands.streams.policies.retention import acknowledged
from commands.streams.policies.timer import PolicyTimer
from storage.entries.entry import decode_fields, encode_fields
from storage.entries.entry_id import MAX_ID, EntryID, EntryIDs, format_id
from storage.groups.group import MAX_DELIVERIES, Group
from storage.groups.pending_block import PendingEntry, Row
from storage.policies.group_policy import GroupPolicy
from storage.stream import Stream

DEADLINE, FAILED, FATAL = b"deadline", b"failed", b"fatal"

_PREFIX = b"rillway-"
_ADDED = frozenset(
    _PREFIX + name
    for name in (
        b"stream", b"group", b"id", b"consumer", b"deliveries", b"delivered", b"cause", b"error",
        b"hops",
    )
)  # fmt: skip


def cause_of(row: Row) -> bytes:
    """The cause of death of an entry that has not changed since its last delivery or release."""
    if row[1] is not None:
        return DEADLINE
    return FATAL if row[3] == MAX_DELIVERIES else FAILED


def letter_fields(
    key: bytes, group: Group, row: Row, cause: bytes, reason: bytes | None, fields: list[bytes]
) -> list[bytes]:
    """The fields of a dead letter, from those of the entry."""
    entry_id, owner, delivery_ms, deliveries = row
    own: list[bytes] = []
    hops = 0
    for name, value in zip(fields[::2], fields[1::2], strict=True):
        if name not in _ADDED:
            own += (name, value)
        elif name == _PREFIX + b"hops" and value.isdigit() and len(value) < 19:
            hops = int(value)
    added = {
        b"stream": key,
        b"group": group.name,
        b"consumer": b"" if owner is None else owner.name,
        b"id": format_id(entry_id),
        b"deliveries": b"%d" % deliveries,
        b"delivered": b"%d" % delivery_ms,
        b"cause": cause,
        b"error": cause if reason is None else reason,
        b"hops": b"%d" % (hops + 1),
    }
    for name, value in added.items():
        own += (_PREFIX + name, value)
    return own


def bury(
    client: Client, key: bytes, stream: Stream, group: Group, row: Row, cause: bytes, now_ms: int
) -> bool:
    """Move a pending entry to the dead letters; False if it has to stay pending."""
    policy = group.policy
    assert policy is not None
    entry_id = row[0]
    entry = stream.get(entry_id)
    if entry is None:
        drop_ghosts(client, key, group, policy, [entry_id])
        return True
    obstacle = _obstacle(client, policy)
    counts = client.instance.feature(PolicyTimer).counts
    if obstacle:
        policy.dead_letter_failures += 1
        counts.dead_letter_failures += 1
        _report(client, key, policy, obstacle)
        return False
    reason = policy.reasons.get(entry_id)
    fields = letter_fields(key, group, row, cause, reason, decode_fields(entry))
    _append(client, policy.options.dead_letter, fields, now_ms)
    group.acknowledge_all(EntryIDs.of([entry_id]))
    propagate_removals(client, key, {group.name: [entry_id]}, [])
    if stream.ack_journal is not None:
        record(client, key, group, stream.ack_journal, [PendingEntry(*row)])
    group_changed(client, key)
    acknowledged(client, key, stream)
    policy.dead_lettered += 1
    counts.dead_lettered += 1
    return True


def _obstacle(client: Client, policy: GroupPolicy) -> str:
    """Why there can be no dead letter; empty if there can be one."""
    options = policy.options
    target = client.lookup_for_write(options.dead_letter)
    if target is not None and type(target) is not Stream:
        return "the key holds another type"
    if target is not None and target.last_id == MAX_ID:
        return "the stream has no IDs left"
    user = client.instance.feature(AccessControl).users.get(options.dead_letter_user)
    if user is None:
        return "the user who configured it does not exist"
    if not any(each.keys.allow(options.dead_letter, WRITE) for each in user.selectors):
        return "the user who configured it has no right to write there"
    return ""


def _append(client: Client, key: bytes, fields: list[bytes], now_ms: int) -> None:
    value = client.lookup_for_write(key)
    target = value if isinstance(value, Stream) else created_stream(client, key)
    entry_id = automatic_id(target.last_id, now_ms)
    append_entry(client, key, target, entry_id, encode_fields(fields), len(fields))
    client.propagate(b"XADD", key, format_id(entry_id), *fields)


def _report(client: Client, key: bytes, policy: GroupPolicy, obstacle: str) -> None:
    instance = client.instance
    target = instance.shown(policy.options.dead_letter)
    instance.host.log_bounded(
        "warning",
        "dead letters",
        f"An entry of stream '{instance.shown(key)}' cannot become a dead letter in '{target}':"
        f" {obstacle}",
    )


def drop_ghosts(
    client: Client, key: bytes, group: Group, policy: GroupPolicy, ids: list[EntryID]
) -> None:
    """Drop pending entries without content."""
    if ids:
        group.acknowledge_all(EntryIDs.of(ids))
        propagate_removals(client, key, {group.name: ids}, [])
        group_changed(client, key, len(ids))
        policy.ghosts_dropped += len(ids)
