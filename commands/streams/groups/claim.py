"""XCLAIM and XAUTOCLAIM (Redis 7.4): pending entries change hands.

An entry whose content was deleted cannot be claimed: it is removed from the PEL instead. Both
commands are propagated as XCLAIMs with their result (Redis 7.4); an XCLAIM of an entry without
content makes a replica drop it as well.
"""

from __future__ import annotations

from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LONG_BYTES, LongReply
from commands.core.registry import FAST, WRITE, command, one_key
from commands.streams.groups.delivery import (
    deliver_again,
    group_changed,
    propagate_acknowledgement,
    propagate_claims,
    propagate_consumer,
    propagate_delivery,
    propagate_position,
    seen_consumer,
)
from commands.streams.groups.key_turn import open_keys, take_over
from commands.streams.groups.read_group import ENTRIES_AT_ONCE
from commands.streams.ids import (
    id_bulk,
    parse_leading,
    parse_range_start,
    parse_strict,
    without_repeats,
)
from commands.streams.lookup import find_group
from commands.streams.policies.timer import note
from commands.streams.ranges import LongPick, is_long_pick, long_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Owner, Row
from storage.policies.key_order import KeyOrder
from storage.stream import Stream

DEFAULT_COUNT = 100
# XAUTOCLAIM looks at this many pending entries for each that it may claim.
ATTEMPTS_FACTOR = 10
MAX_COUNT = INT64_MAX // 16
_OF_THREE = replies.array_header(3)


class Claim:
    """One consumer's claim on entries of a group: what both commands do with each of them."""

    def __init__(self, client: Client, key: bytes, group: Group, consumer_name: bytes) -> None:
        self.client = client
        self.key = key
        self.group = group
        # State that no propagated XCLAIM carries yet: the new consumer, the group's position.
        self.is_created = consumer_name not in group.consumers
        self.is_moved = False
        self.consumer: Consumer = seen_consumer(client, key, group, consumer_name)
        client.propagate_nothing()  # never the request itself

    def drop_all(self, rows: list[Row]) -> None:
        """Remove entries whose content was deleted from the PEL."""
        if not rows:
            return
        group_changed(self.client, self.key, len(rows))
        if self.client.instance.propagation.sinks:
            for state, alike in groupby(rows, key=itemgetter(1, 2, 3)):
                self._propagate_loss([row[0] for row in alike], *state)
        self.group.acknowledge_all(EntryIDs.of([row[0] for row in rows]))

    def _propagate_loss(
        self, ids: list[EntryID], owner: Owner | None, delivery_ms: int, delivery_count: int
    ) -> None:
        """An XCLAIM of what they were; the other side has no content either, and drops them."""
        run = self.client, self.key, self.group
        if owner is None:
            for entry_id in ids:
                propagate_acknowledgement(*run, entry_id)
            return
        propagate_delivery(*run, owner, EntryIDs.of(ids), delivery_ms, delivery_count)
        self.is_moved = False
        if owner is self.consumer:
            self.is_created = False

    def is_heartbeat(self, row: Row, now_ms: int) -> bool:
        """Return True if the owner of an entry claims it before its deadline (ACK-WAIT)."""
        policy = self.group.policy
        if policy is None or not policy.options.ack_wait_ms or row[1] is not self.consumer:
            return False
        if policy.keys is not None and row[0] in policy.keys.reserved:
            return False
        return now_ms < policy.due.deadline_ms(row)

    def force(self, entry_id: EntryID, now_ms: int) -> Row:
        """Make an entry pending that is not, as the consumer's own (FORCE)."""
        pending = self.group.add(entry_id, self.consumer, now_ms, 1)
        return entry_id, self.consumer, pending.delivery_ms, pending.delivery_count

    def take_all(
        self, rows: list[Row], delivery_ms: int, *, deliveries: int, count: int | None = None
    ) -> None:
        """Give pending entries to the consumer and add `deliveries` to their delivery counts.

        `count`: the delivery count to set instead, if it is given.
        """
        if rows:
            claim = rows, self.consumer, delivery_ms
            counts = self.group.claim_all(*claim, deliveries=deliveries, count=count)
            self._given([row[0] for row in rows], delivery_ms, counts)

    def deliver(self, ids: list[EntryID], delivery_ms: int) -> None:
        """Give the consumer entries that are not pending, as XREADGROUP would have. IDs ascend."""
        self.group.deliver(self.consumer, EntryIDs.of(ids), delivery_ms)
        if self.group.policy is not None:
            self.group.policy.due.note_time(delivery_ms)
            if self.group.policy.keys is not None:
                self.group.policy.keys.shut()
        self._given(ids, delivery_ms, [1] * len(ids))

    def _given(self, ids: list[EntryID], delivery_ms: int, delivery_counts: list[int]) -> None:
        """Account for entries (at least one) that the consumer has now."""
        client = self.client
        self.consumer.active_ms = client.instance.now_ms
        group_changed(client, self.key, len(ids))
        if client.instance.propagation.sinks:
            run = ids, delivery_ms, delivery_counts
            propagate_claims(client, self.key, self.group, self.consumer, *run)
            self.is_created = self.is_moved = False

    def move_group(self, last_id: EntryID) -> None:
        """Set the group's last delivered ID (LASTID)."""
        self.group.last_delivered_id = last_id
        self.is_moved = True
        group_changed(self.client, self.key)

    def take_keys(self, rows: list[Row]) -> None:
        """The consumer has taken entries, and has their keys (KEY-FIELD)."""
        if rows and self.group.policy is not None:
            ids = [row[0] for row in rows]
            take_over(self.client, self.key, self.group, self.consumer, ids)

    def finish(self, stream: Stream) -> None:
        """After the last entry."""
        if self.group.policy is not None:
            note(self.client, self.key, stream)
        if self.is_created:
            propagate_consumer(self.client, self.key, self.group, self.consumer)
        if self.is_moved:
            propagate_position(self.client, self.key, self.group)


# -- XCLAIM ------------------------------------------------------------------------------------


@record
class ClaimOptions:
    """The arguments of XCLAIM after the consumer."""

    min_idle_ms: int
    ids: list[EntryID]
    delivery_ms: int
    retry_count: int | None = None  # None: one more than before, but not with JUSTID
    force: bool = False
    just_id: bool = False
    last_id: EntryID = MIN_ID


@command("XCLAIM", arity=-6, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def xclaim(client: Client, argv: Request) -> bytes | LongReply:
    """Array of the entries that were claimed; of their IDs with JUSTID. Source: Redis 7.4."""
    if client.replays:
        reply = deliver_again(client, argv)
        if reply is not None:  # loading takes 2.2 us a request instead of 4.2
            return reply
    key = argv[1]
    stream, group = find_group(client, key, argv[2])
    now_ms = client.instance.now_ms
    options = _parse_claim(argv, now_ms)
    is_future = options.delivery_ms > now_ms and not client.replays
    if options.delivery_ms < 0 or is_future:
        options.delivery_ms = now_ms  # Redis mends a time that makes no sense

    claim = Claim(client, key, group, argv[3])
    if options.last_id > group.last_delivered_id:
        claim.move_group(options.last_id)
    try:
        return _answer(stream, *_claim(claim, stream, options))
    finally:
        claim.finish(stream)


# What was claimed, in order: the IDs, and what is answered of each. b"": its content, in pieces.
Claimed: TypeAlias = "tuple[list[EntryID], list[bytes]]"


def _claim(claim: Claim, stream: Stream, options: ClaimOptions) -> Claimed:
    """Claim entries, as far as they may be."""
    keys = None if claim.client.replays else open_keys(stream, claim.group)
    if keys is None and _is_delivery(stream, claim.group, options):
        claim.deliver(options.ids, options.delivery_ms)
        return options.ids, list(map(id_bulk, options.ids))
    claimed: Claimed = [], []
    for ids in without_repeats(options.ids):
        _claim_each(claim, stream, options, ids, keys, claimed)
    return claimed


def _answer(stream: Stream, ids: list[EntryID], answers: list[bytes]) -> bytes | LongReply:
    """The array of what was claimed."""
    if b"" in answers[-1:]:
        return long_reply([LongPick(stream.pick(ids))])
    return replies.array(answers)


def _look_up(stream: Stream, ids: list[EntryID], *, is_long: bool) -> list[bytes | None]:
    """The entries with these IDs, b"" for each if they are to be answered in pieces."""
    return stream.presence_of(ids) if is_long else stream.entries_of_any(ids)


def _claim_each(
    claim: Claim,
    stream: Stream,
    options: ClaimOptions,
    ids: list[EntryID],
    keys: KeyOrder | None,
    claimed: Claimed,
) -> None:
    """Claim different entries, as far as they may be."""
    now_ms, min_idle_ms = claim.client.instance.now_ms, options.min_idle_ms
    taken: list[Row] = []
    beats: list[Row] = []
    dropped: list[Row] = []
    is_long = keys is None and not options.just_id and is_long_pick(stream, sorted(options.ids))
    rows, entries = claim.group.pending.rows_of(ids), _look_up(stream, ids, is_long=is_long)
    for entry_id, row, entry in zip(ids, rows, entries, strict=True):
        alike = taken
        if row is None:
            if entry is None or not options.force:
                continue
            if keys is not None and not keys.may_be_forced(entry):
                continue
            row = claim.force(entry_id, now_ms)
        elif entry is None:
            dropped.append(row)
            continue
        # What was released (XNACK) is at anyone's disposal, and 0 is old enough for all, even if
        # the clock stepped back.
        elif min_idle_ms and row[1] is not None and now_ms - row[2] < min_idle_ms:
            continue
        elif claim.is_heartbeat(row, now_ms):
            alike = beats
        elif keys is not None and not keys.may_be_taken(entry_id):
            continue
        alike.append(row)
        claimed[0].append(entry_id)
        claimed[1].append(id_bulk(entry_id) if options.just_id else entry or b"")
    claim.drop_all(dropped)
    deliveries = 0 if options.just_id else 1
    claim.take_all(beats, options.delivery_ms, deliveries=0, count=options.retry_count)
    claim.take_all(taken, options.delivery_ms, deliveries=deliveries, count=options.retry_count)
    if keys is not None:
        claim.take_keys(taken)


def _is_delivery(stream: Stream, group: Group, options: ClaimOptions) -> bool:
    """Return True for a propagated XREADGROUP: all entries exist, are new, and delivered once."""
    if not (options.force and options.just_id and options.retry_count == 1):
        return False
    ids = options.ids
    if not ids or group.pending.reaches(ids[0]):
        return False
    return ids == stream.ids(ids[0], ids[-1], len(ids) + 1)


def _parse_claim(argv: Request, now_ms: int) -> ClaimOptions:
    """IDs up to the first word that is none, then options in any order. Raises ReplyError."""
    arguments = Arguments(argv, 4)
    min_idle_ms = max(_number(arguments, b"min-idle-time"), 0)
    options = ClaimOptions(min_idle_ms, [], now_ms)
    options.ids = parse_leading(islice(argv, arguments.position, None))
    arguments.position += len(options.ids)
    while arguments:
        word = arguments.next()
        option = word.upper()
        if option == b"FORCE":
            options.force = True
        elif option == b"JUSTID":
            options.just_id = True
        elif option == b"IDLE" and arguments:
            options.delivery_ms = now_ms - _number(arguments, b"IDLE option")
        elif option == b"TIME" and arguments:
            options.delivery_ms = _number(arguments, b"TIME option")
        elif option == b"RETRYCOUNT" and arguments:
            count = _number(arguments, b"RETRYCOUNT option")
            options.retry_count = count if count >= 0 else None
        elif option == b"LASTID" and arguments:
            options.last_id = parse_strict(arguments.next())
        else:
            raise errors.unrecognized_xclaim_option(word)
    return options


def _number(arguments: Arguments, what: bytes) -> int:
    return arguments.next_int(errors.invalid_claim_argument(what, b"XCLAIM").text)


# -- XAUTOCLAIM --------------------------------------------------------------------------------


@record
class AutoclaimOptions:
    """The arguments of XAUTOCLAIM after the consumer."""

    min_idle_ms: int
    start: EntryID
    count: int = DEFAULT_COUNT
    just_id: bool = False


@command(
    "XAUTOCLAIM",
    arity=-6,
    flags=WRITE | FAST,
    keys=one_key(b"RW", b"DELETE"),
    is_quick=False,  # it may look at many entries to claim few
)
def xautoclaim(client: Client, argv: Request) -> bytes | LongReply:
    """Array of: where to go on (0-0 at the end), entries or IDs claimed, IDs found deleted.

    Deleted entries count against COUNT. Source: Redis 7.4.
    """
    options = _parse_autoclaim(argv)
    key = argv[1]
    stream, group = find_group(client, key, argv[2])
    claim = Claim(client, key, group, argv[3])
    try:
        return _claim_idle(claim, stream, options)
    finally:
        claim.finish(stream)


def _claim_idle(claim: Claim, stream: Stream, options: AutoclaimOptions) -> bytes | LongReply:
    """Claim entries that have been pending for long; the reply."""
    group, min_idle_ms, policy = claim.group, options.min_idle_ms, claim.group.policy
    now_ms = claim.client.instance.now_ms
    open_keys(stream, group)
    claimed: list[bytes] = []
    taken: list[Row] = []
    dropped: list[Row] = []
    walk = group.pending.rows_from(options.start)
    attempts = options.count * ATTEMPTS_FACTOR
    size = options.start, MAX_ID, options.count, LONG_BYTES, False
    is_long = not options.just_id and stream.exceeds_bytes(*size)
    while (room := options.count - len(claimed) - len(dropped)) and attempts:
        rows = list(islice(walk, min(room, attempts, ENTRIES_AT_ONCE)))
        if not rows:
            break
        attempts -= len(rows)
        entries = _look_up(stream, [row[0] for row in rows], is_long=is_long)
        for row, entry in zip(rows, entries, strict=True):
            entry_id, owner, delivery_ms, _ = row
            if entry is None:
                dropped.append(row)
            elif policy is not None and not policy.due.may_be_claimed(row, now_ms):
                continue
            elif owner is None or not min_idle_ms or now_ms - delivery_ms >= min_idle_ms:
                taken.append(row)
                claimed.append(id_bulk(entry_id) if options.just_id else entry)
    cursor = next(walk, (MIN_ID,))[0]
    claim.drop_all(dropped)
    claim.take_all(taken, now_ms, deliveries=not options.just_id)
    claim.take_keys(taken)
    deleted = replies.array([id_bulk(row[0]) for row in dropped])
    if is_long and taken:
        picked = LongPick(stream.pick([row[0] for row in taken]), _OF_THREE + id_bulk(cursor))
        return long_reply([picked, deleted])
    return replies.array([id_bulk(cursor), replies.array(claimed), deleted])


def _parse_autoclaim(argv: Request) -> AutoclaimOptions:
    idle_error = errors.invalid_claim_argument(b"min-idle-time", b"XAUTOCLAIM").text
    min_idle_ms = max(parse_int(argv[4], idle_error), 0)
    options = AutoclaimOptions(min_idle_ms, parse_range_start(argv[5]))
    arguments = Arguments(argv, 6)
    while arguments:
        option = arguments.next_keyword()
        if option == b"COUNT" and arguments:
            options.count = arguments.next_int(errors.COUNT_NOT_POSITIVE, 1, MAX_COUNT)
        elif option == b"JUSTID":
            options.just_id = True
        else:
            raise ReplyError(errors.SYNTAX)
    return options
