"""XGROUP: the groups of a stream and their consumers (Redis 7.4).

    XGROUP DELCONSUMER key group consumer [KEEPPENDING | TRANSFER to]

The options are Rillway's own: the consumer's pending entries are released, as XNACK does, with the
delivery counts that they have, or they become another consumer's, with their times and counts.
Both are propagated as XCLAIMs before the deletion, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter

from commands.core import notifications
from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import (
    DENYOOM,
    LOADING,
    STALE,
    WRITE,
    command,
    one_key,
    propagate_carried,
)
from commands.documentation import help_reply
from commands.streams.groups.delivery import (
    group_changed,
    new_consumer,
    propagate_consumer,
    propagate_delivery,
    propagate_position,
    propagate_release,
)
from commands.streams.idempotence import new_stream
from commands.streams.ids import parse_open, parse_strict
from commands.streams.lookup import group_of
from commands.streams.policies.carrier import propagate_row
from commands.streams.policies.retention import acknowledged
from commands.streams.policies.timer import note
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.entries.entry_id import MIN_ID, EntryIDs
from storage.groups.group import UNKNOWN, Consumer, Group
from storage.groups.pending_block import Row
from storage.keyspace.database import Database
from storage.policies.group_rows import ahead_row, reserved_rows
from storage.stream import Stream, set_entries_read

HELP = (
    b"CONFIG <key> <groupname> <option> [option ...]",
    b"    Set the delivery policy of a group (Rillway's own). Options:",
    b"    * ACK-WAIT ms, BACKOFF ms [ms ...], MAX-DELIVERIES n, DEAD-LETTER key",
    b"      Deliver entries again that are not acknowledged in time; give them up.",
    b"    * MAX-PENDING n, CONSUMER-EXPIRY ms",
    b"      Bound what is in flight; remove idle consumers.",
    b"    * KEY-FIELD name, KEY-LOOKAHEAD n, KEY-LOOKAHEAD-KEY n",
    b"      Deliver the entries of each key in order, to one consumer at a time.",
    b"CREATE <key> <groupname> <id|$> [option]",
    b"    Add a group that is given the entries after <id>; $: new ones only. Options:",
    b"    * MKSTREAM",
    b"      Make an empty stream first if the key does not exist.",
    b"    * ENTRIESREAD entries_read",
    b"      How many entries up to <id> were ever added (for replicas and files).",
    b"CREATECONSUMER <key> <groupname> <consumer>",
    b"    Add a consumer to a group.",
    b"DELCONSUMER <key> <groupname> <consumer> [option]",
    b"    Take a consumer out of a group, with all that is pending for it. Options:",
    b"    * KEEPPENDING",
    b"      Release what is pending, for any consumer to claim (Rillway's own).",
    b"    * TRANSFER consumer",
    b"      Give it to another consumer (Rillway's own).",
    b"DESTROY <key> <groupname>",
    b"    Remove a group.",
    b"SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
    b"    Let a group continue after another <id>.",
)

# The number of pending entries that change their owner in one request.
PENDING_AT_ONCE = 1000


@record
class GroupOptions:
    """The options after the ID in XGROUP CREATE and SETID."""

    mkstream: bool = False
    entries_read: int = UNKNOWN
    entries_read_position: int = 0  # in argv


def _set_entries_read(
    client: Client, argv: Request, stream: Stream, group: Group, options: GroupOptions
) -> None:
    """Set ENTRIESREAD, but to no more than the stream ever had (Redis 8.2.1).

    The resulting number is propagated.
    """
    set_entries_read(stream, group, options.entries_read)
    if group.entries_read != options.entries_read:
        request = list(argv)
        request[options.entries_read_position] = b"%d" % group.entries_read
        client.propagate(*request)


def _parse_options(argv: Request, *, can_create: bool) -> GroupOptions:
    """Raises ReplyError."""
    options = GroupOptions()
    arguments = Arguments(argv, 5)
    while arguments:
        option = arguments.next_keyword()
        if option == b"MKSTREAM" and can_create:
            options.mkstream = True
        elif option == b"ENTRIESREAD" and arguments:
            options.entries_read_position = arguments.position
            options.entries_read = arguments.next_int()
            if options.entries_read < UNKNOWN:
                raise ReplyError(errors.ENTRIESREAD_NEGATIVE)
        else:
            raise errors.subcommand_syntax(b"XGROUP", argv[1])
    return options


def _stream_at(client: Client, key: bytes) -> Stream:
    """The stream of a sub-command that needs one. Raises WRONGTYPE, or that there is no key."""
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        raise ReplyError(errors.XGROUP_NO_KEY)
    return stream


def _changed(client: Client, key: bytes, event: bytes) -> None:
    group_changed(client, key)
    stream = client.db.get(key)
    if isinstance(stream, Stream) and stream.policy is not None:
        acknowledged(client, key, stream)
    client.notify(notifications.STREAM, event, key)


@command("XGROUP CREATE", arity=-5, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"INSERT", at=2))
def xgroup_create(client: Client, argv: Request) -> bytes:
    """OK. A request that fails creates no stream either. Source: Redis 7.4."""
    options = _parse_options(argv, can_create=True)
    key, name = argv[2], argv[3]
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None and not options.mkstream:
        raise ReplyError(errors.XGROUP_NO_KEY)
    if len(argv) > 8:  # options that are given twice, so often that Redis loses patience
        raise errors.subcommand_syntax(b"XGROUP", argv[1])
    if argv[4] == b"$":
        last_id = MIN_ID if stream is None else stream.last_id
    else:
        last_id = parse_strict(argv[4])
    if stream is None:
        stream = new_stream(client.instance.config)
        client.store(key, stream)
        client.modified(key)
    elif name in stream.groups:
        raise ReplyError(errors.BUSYGROUP)
    group = Group(name, last_id)
    stream.add_group(group)
    _set_entries_read(client, argv, stream, group, options)
    _changed(client, key, b"xgroup-create")
    return replies.OK


@command("XGROUP SETID", arity=-5, flags=WRITE, keys=one_key(b"RW", b"UPDATE", at=2))
def xgroup_setid(client: Client, argv: Request) -> bytes:
    """OK. Takes `-` and `+` as well, as Redis does. Source: Redis 7.4."""
    options = _parse_options(argv, can_create=False)
    key = argv[2]
    stream = _stream_at(client, key)
    group = group_of(stream, key, argv[3])
    if len(argv) > 7:
        raise errors.subcommand_syntax(b"XGROUP", argv[1])
    group.last_delivered_id = stream.last_id if argv[4] == b"$" else parse_open(argv[4])
    _set_entries_read(client, argv, stream, group, options)
    keys = None if group.policy is None or client.replays else group.policy.keys
    if keys is not None and keys.passed:
        # What was passed over is new, or read: as the position says.
        keys.set_position(MIN_ID)
        propagate_position(client, key, group)
        propagate_row(client, key, *ahead_row(group, MIN_ID))
    _changed(client, key, b"xgroup-setid")
    return replies.OK


@command("XGROUP DESTROY", arity=4, flags=WRITE, keys=one_key(b"RW", b"DELETE", at=2))
def xgroup_destroy(client: Client, argv: Request) -> bytes:
    """Integer: 1, or 0 if there was no such group. Its waiters get NOGROUP. Source: Redis 7.4."""
    key = argv[2]
    group = _stream_at(client, key).remove_group(argv[3])
    if group is None:
        return replies.ZERO
    client.instance.background_work.discard(group.disband())
    _changed(client, key, b"xgroup-destroy")
    client.signal_key_as_ready(key)
    return replies.ONE


@command(
    "XGROUP CREATECONSUMER", arity=5, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"INSERT", at=2)
)
def xgroup_createconsumer(client: Client, argv: Request) -> bytes:
    """Integer: 1, or 0 if the consumer is there already. Source: Redis 7.4."""
    key = argv[2]
    group = group_of(_stream_at(client, key), key, argv[3])
    if argv[4] in group.consumers:
        return replies.ZERO
    new_consumer(client, key, group, argv[4])
    return replies.ONE


@command("XGROUP DELCONSUMER", arity=-5, flags=WRITE, keys=one_key(b"RW", b"DELETE", at=2))
def xgroup_delconsumer(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries that were pending for it. Source: Redis 7.4."""
    keeps, heir_name = _parse_departure(argv)
    key, name = argv[2], argv[4]
    stream = _stream_at(client, key)
    group = group_of(stream, key, argv[3])
    consumer = group.consumers.get(name)
    if consumer is None:
        return replies.ZERO
    pending = consumer.pending_count
    if heir_name is None and not client.replays and group.policy is not None:
        # Programs that tidy up must not lose what is to be delivered again.
        keeps = keeps or group.policy.options.ack_wait_ms > 0
    if keeps:
        release_pending(client, key, stream, group, consumer)
    elif heir_name is not None:
        _transfer_pending(client, key, stream, group, consumer, heir_name)
    if keeps and not name:  # a Redis has the released entries as those of the empty name
        propagate_carried(client, *argv[:5])
    elif keeps or heir_name is not None:
        client.propagate(*argv[:5])
    remove_consumer(client, key, stream, group, name)
    if group.policy is not None:
        note(client, key, stream)
    return replies.integer(pending)


def remove_consumer(client: Client, key: bytes, stream: Stream, group: Group, name: bytes) -> None:
    """Remove a consumer with what is pending for it, and notify."""
    tasks = client.instance.background_work
    if group.delete_consumer(name, tasks.discard):
        tasks.tidy(_tidied(client.db, key, stream, group))
    _changed(client, key, b"xgroup-delconsumer")


def _parse_departure(argv: Request) -> tuple[bool, bytes | None]:
    """Whether to release the pending entries, and which consumer gets them. Raises ReplyError."""
    keeps, heir_name = False, None
    arguments = Arguments(argv, 5)
    while arguments:
        option = arguments.next_keyword()
        if option == b"KEEPPENDING" and not keeps:
            keeps = True
        elif option == b"TRANSFER" and arguments and heir_name is None:
            heir_name = arguments.next()
        else:
            raise errors.wrong_arity(b"xgroup|delconsumer")  # as a Redis, which has no options
    if keeps and heir_name is not None:
        raise ReplyError(errors.KEEPPENDING_WITH_TRANSFER)
    if heir_name == argv[4]:
        raise ReplyError(errors.TRANSFER_TO_ITSELF)
    return keeps, heir_name


def _deliverable(stream: Stream, consumer: Consumer) -> Iterator[list[Row]]:
    """A consumer's pending entries in batches, each of which may change its owner.

    Without those whose content was deleted: XCLAIM would drop them, on this server and on others.
    """
    start = MIN_ID
    while rows := list(islice(consumer.pending.rows_from(start), PENDING_AT_ONCE)):
        there = set(stream.existing([row[0] for row in rows]))
        yield [row for row in rows if row[0] in there]
        if len(rows) < PENDING_AT_ONCE:
            return
        start = rows[-1][0] + 1


def release_pending(
    client: Client, key: bytes, stream: Stream, group: Group, consumer: Consumer
) -> None:
    """Release what is pending for a consumer, with its delivery counts (KEEPPENDING)."""
    is_propagated = bool(client.instance.propagation.sinks)
    reasons = {} if group.policy is None else group.policy.reasons
    for batch in filter(None, _deliverable(stream, consumer)):
        for reason, alike in groupby(batch, lambda row: reasons.get(row[0])):
            rows = list(alike)
            ids, counts = [row[0] for row in rows], [row[3] for row in rows]
            group.release_all(rows, counts)
            if is_propagated:
                propagate_release(client, key, stream, group, ids, counts, reason=reason)
        client.signal_key_as_ready(key)


def _transfer_pending(
    client: Client, key: bytes, stream: Stream, group: Group, consumer: Consumer, heir_name: bytes
) -> None:
    """Give what is pending for a consumer to another one, created if need be (TRANSFER)."""
    heir = group.consumers.get(heir_name)
    if heir is None:
        heir = new_consumer(client, key, group, heir_name)
        propagate_consumer(client, key, group, heir)
    is_propagated = bool(client.instance.propagation.sinks)
    for rows in _deliverable(stream, consumer):
        group.transfer(rows, heir)
        for (delivery_ms, count), alike in groupby(rows, itemgetter(2, 3)) if is_propagated else ():
            ids = EntryIDs.of([row[0] for row in alike])
            propagate_delivery(client, key, group, heir, ids, delivery_ms, count)
        if is_propagated and group.policy is not None and group.policy.keys is not None:
            kept = [row[0] for row in rows if row[0] in group.policy.keys.reserved]
            for words in reserved_rows(group, kept):
                propagate_row(client, key, *words)


def _tidied(db: Database, key: bytes, stream: Stream, group: Group) -> Iterator[None]:
    """Free what a consumer has left behind, then count the stream again, if it is still there."""
    yield from group.tidy_up()
    if db.get(key) is stream:
        db.memory.note(stream)


@command("XGROUP HELP", arity=2, flags=LOADING | STALE)
def xgroup_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings."""
    return help_reply(b"XGROUP", *HELP)
