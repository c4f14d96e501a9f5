"""XREADGROUP (Redis 7.4): entries for one consumer of a group, new ones or its own history.

`>` takes entries that no consumer of the group was given yet and makes them pending, unless NOACK
is given. Very many are delivered at once, and then sent in pieces. Any other ID asks for the
consumer's own pending entries after it: that never waits, and each answer counts as one more
delivery.

CLAIM (Redis 8.4) lets `>` begin with entries of any consumer that are pending for long: the
released ones (XNACK) first, then the oldest deliveries. Each entry of such a reply is followed by
its idle time and the number of its earlier deliveries. A client that waits for new entries then
also waits for the oldest pending one to become old enough.
The
group keeps its pending entries in that order (storage/groups/claim_order.py), so that it costs next
to nothing to find that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress, islice
from typing import TYPE_CHECKING, TypeAlias

import cython

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import BLOCKING, MOVABLE_KEYS, WRITE, KeySpec, command
from commands.streams.groups.delivery import (
    group_changed,
    new_consumer,
    propagate_claims,
    propagate_consumer,
    propagate_delivery,
    propagate_position,
    seen_consumer,
)
from commands.streams.groups.key_turn import KeyTurn
from commands.streams.groups.policy_turn import PolicyTurn
from commands.streams.ids import parse_strict
from commands.streams.policies.group_deliveries import await_due
from commands.streams.policies.retention import acknowledged
from commands.streams.ranges import (
    LongPick,
    LongRange,
    deleted_entry,
    is_long,
    is_long_pick,
    long_reply,
)
from commands.streams.read import (
    ALL,
    NO_CAPS,
    NoCaps,
    ReadRequest,
    caps_of,
    key_header,
    key_positions,
    nothing_to_read,
    open_header,
    parse_read_request,
    read_reply,
)
from commands.streams.request_cache import RequestCache
from protocol import errors, replies
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import MAX_ID, EntryID, EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Row
from storage.stream import Stream, advance_group

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.groups.group import DeliveryLatency
    from storage.policies.group_policy import GroupPolicy

# A client that waits looks for entries this often at most, unless it knows when one is due.
MIN_WAKE_MS = 10
# Entries without content that it passes over each time: the more, the less often, so that clients
# that only wait do not keep the server busy.
PASSED_PER_MS = 100
# As many entries are looked up at once.
ENTRIES_AT_ONCE = 100


class ClaimTurn:
    """One consumer's turn to claim entries of one stream, and to be given new ones after them."""

    def __init__(
        self, client: Client, key: bytes, stream: Stream, group: Group, consumer: Consumer
    ) -> None:
        self.client = client
        self.key = key
        self.stream = stream
        self.group = group
        self.consumer = consumer
        # The encoded entries for the consumer, and their number.
        self.count = 0
        self.pieces: list[bytes] = []

    def take(self, min_idle_ms: int, count: int, caps: NoCaps) -> None:
        """Claim up to `count` entries (ALL: no limit).

        An entry whose content was deleted is skipped and stays pending, as in Redis.
        """
        now_ms = self.client.instance.now_ms
        claimable = self.group.claimable(now_ms, min_idle_ms)
        taken: list[Row] = []
        while self.count != count and caps.admits():
            rows = some_rows(claimable, count, self.count, caps)
            if not rows:
                break
            entries = self.stream.entries_of([row[0] for row in rows])
            for row, entry in zip(rows, entries, strict=True):
                if entry is not None:
                    taken.append(row)
                    self.give(entry, max(now_ms - row[2], 0), row[3], caps)
        if taken:
            self._claim(taken, now_ms)

    def give(self, entry: bytes, idle_ms: int, deliveries: int, caps: NoCaps) -> None:
        """Answer an entry, with how long it was idle and how often it was delivered before."""
        self.count += 1
        answer = b"*4%b:%d\r\n:%d\r\n" % (entry[len(b"*2") :], idle_ms, deliveries)
        self.pieces.append(answer)
        if caps is not NO_CAPS:
            caps.spend(1, len(answer))

    def _claim(self, taken: list[Row], now_ms: int) -> None:
        client, group = self.client, self.group
        counts = group.claim_all(taken, self.consumer, now_ms, deliveries=1)
        self.consumer.active_ms = now_ms
        group_changed(client, self.key, len(taken))
        if client.instance.propagation.sinks:
            ids = [row[0] for row in taken]
            propagate_claims(client, self.key, group, self.consumer, ids, now_ms, counts)


def some_rows(walk: Iterator[Row], count: int, given: int, caps: NoCaps) -> list[Row]:
    """The next of up to `count` rows (ALL: of all), `given` of which were given already.

    As many as their entries are looked up for at once: one where each counts against a cap.
    """
    step = ENTRIES_AT_ONCE if caps is NO_CAPS else 1
    return list(islice(walk, step if count == ALL else min(step, count - given)))


def next_claimable_ms(group: Group, now_ms: int, min_idle_ms: int) -> int:
    """When the next pending entry is old enough, or one that is delivered now.

    Entries that are old enough already were skipped because their content was deleted.
    """
    passed = 0
    for _, owner, delivery_ms, _ in group.claimable(now_ms, 0):
        if owner is not None and now_ms - delivery_ms < min_idle_ms:
            return max(delivery_ms + min_idle_ms, now_ms + passed // PASSED_PER_MS)
        passed += 1
    return now_ms + max(min_idle_ms, MIN_WAKE_MS, passed // PASSED_PER_MS)


# -- XREADGROUP --------------------------------------------------------------------------------


# `>`. No entry can follow the last possible ID, and Redis, too, takes that ID for `>`.
NEW = MAX_ID


_NO_ENTRIES = replies.array_header(0)

# Of the request that is executed.
_IDS = EntryIDs()


@command(
    "XREADGROUP",
    arity=-7,
    flags=WRITE | BLOCKING | MOVABLE_KEYS,
    keys=(
        KeySpec(
            begin=4,
            keyword=b"STREAMS",
            last=-1,
            limit=2,
            flags=(b"RO", b"ACCESS", b"INCOMPLETE"),
            find=key_positions,
        ),
    ),
    is_quick=True,
)
def xreadgroup(client: Client, request: Request) -> bytes | Block | LongReply:
    """Map from key to entries, of the streams that have some; null if none has.

    A key with an ID other than `>` is always there, with an empty array if nothing is pending,
    except where MAXCOUNT or MAXSIZE was reached before it. Source: Redis 8.10.
    """
    identity = request.identity()
    read: GroupRead | None = _KNOWN.get(identity)
    if read is None:
        read = _parse(client, request.words())
        if read.is_timeless:
            _KNOWN.put(identity, read)
        request.takes_long = True
        return read.serve(client)
    request.takes_long = not read.is_plain
    reply = read.serve(client)
    # Redis looks at each key twice as well: for its group, and to read.
    client.instance.stats.keyspace_hits += read.streams
    return reply


def _parse(client: Client, argv: Argv) -> GroupRead:
    """The request with its IDs resolved. Raises ReplyError."""
    request = parse_read_request(argv, client.instance.now_ms, with_group=True)
    after: list[EntryID] = []
    for key, text in zip(request.keys, request.ids, strict=True):
        _stream_to_read(client, key, request.group)
        after.append(_resolve(text))
    return GroupRead(request, after)


def _resolve(text: bytes) -> EntryID:
    """The ID after which to read, NEW for `>`. Raises ReplyError."""
    if text == b">":
        return NEW
    if text == b"$" or text == b"+":
        raise errors.xreadgroup_special_id(text)
    return parse_strict(text)


@cython.cfunc
def _stream_to_read(client: Client, key: bytes, name: bytes) -> Stream:
    """A stream with a group. Raises WRONGTYPE, and NOGROUP if there is no key or no group."""
    # A read, as far as hits and misses are concerned.
    stream: Stream | None = client.lookup_stream(key)
    if stream is None or name not in stream.groups:
        raise errors.no_group_for_read(key, name)
    return stream


# One stream's part of the reply: bytes, or entries that are sent in pieces.
Part: TypeAlias = "bytes | LongRange | LongPick"


@cython.cclass
class GroupRead:
    """A request of XREADGROUP whose IDs are resolved. Requests that are alike share one."""

    __slots__ = (
        "_after", "_header_2", "_header_3", "_request", "consumer", "count", "group", "is_plain",
        "is_timeless", "key", "noack", "streams",
    )  # fmt: skip

    def __init__(self, request: ReadRequest, after: list[EntryID]) -> None:
        """`after`: the ID after which to read, for each key, or NEW."""
        self._request = request
        self._after = after
        self.is_timeless = request.is_timeless
        # New entries of one stream, which is what most consumers ask for.
        self.is_plain = after == [NEW] and request.min_idle_ms is None and not request.is_capped
        self.streams = len(request.keys)
        self.key, self.count, self.noack = request.keys[0], request.count, request.noack
        self.group, self.consumer = request.group, request.consumer
        self._header_2, self._header_3 = [open_header(self.key, resp) for resp in (2, 3)]

    def serve(self, client: Client) -> bytes | Block | LongReply:
        """The reply, or the decision to wait for it. Raises WRONGTYPE and NOGROUP."""
        request, wake_ms = self._request, None
        if self.is_plain:
            stream: Stream = _stream_to_read(client, self.key, self.group)
            header = self._header_3 if client.resp == 3 else self._header_2
            group: Group = stream.groups[self.group]
            policy = group.policy
            if policy is None or self._is_plain_for(policy, client, group):
                part = self._new_entries(client, header, self.key, stream, group, NO_CAPS)
            else:
                turn = self._turn(client, self.key, stream, group)
                part = self._by_policy(turn, header, NEW, NO_CAPS, claims=False)
            if part is not None:
                return part if type(part) is bytes else long_reply([part])
            if policy is not None:
                self._await_due(client, [stream])
        else:
            # All of them are looked up before one is served: a delivery must not end in an error.
            streams = [_stream_to_read(client, key, self.group) for key in request.keys]
            parts, claims = self._read_all(client, streams)
            if parts:
                return read_reply(parts, client.resp)
            if claims:
                wake_ms = self._wake_ms(client.instance, streams)
            self._await_due(client, streams)
        decision = nothing_to_read(
            client, request, self.serve, on_missing_key=True, wake_ms=wake_ms
        )
        if type(decision) is Block and self.is_plain:
            decision.finds_nothing = self.finds_nothing
        return decision

    def _is_plain_for(self, policy: GroupPolicy, client: Client, group: Group) -> bool:
        """Return True if a policy changes nothing: nothing is due, and there is room."""
        if client.instance.now_ms >= policy.due.quiet_until_ms:
            return False
        most: cython.Py_ssize_t = policy.options.max_pending
        if most == 0:
            return True
        # More than are in flight: also what has no owner, or no content any more.
        pending: cython.Py_ssize_t = group.pending.length
        return not policy.is_held and self.count != ALL and pending + self.count <= most

    def finds_nothing(self, client: Client) -> bool:
        """Return True if `serve` would find nothing new; its side effects are then already done.

        An entry wakes all waiting consumers of its group, and one of them gets it.
        """
        request = self._request
        stream = client.lookup_for_write(request.keys[0])
        if type(stream) is not Stream or (group := stream.groups.get(request.group)) is None:
            return False
        consumer = group.consumers.get(request.consumer)
        if consumer is None or group.last_delivered_id < stream.last_id:
            return False
        if group.policy is not None and client.instance.now_ms >= group.policy.due.quiet_until_ms:
            return False
        client.instance.stats.keyspace_hits += 1
        consumer.seen_ms = client.instance.now_ms
        return True

    def _read_all(self, client: Client, streams: list[Stream]) -> tuple[list[Part], bool]:
        """Read each stream: the parts of the reply, and whether CLAIM applied."""
        request = self._request
        caps = caps_of(request)
        claims = request.min_idle_ms is not None
        parts: list[Part] = []
        is_begun = False
        for key, after, stream in zip(request.keys, self._after, streams, strict=True):
            caps.start_stream(key, client.resp)
            if not caps.admits():
                break
            group, header = stream.groups[self.group], key_header(key, client.resp)
            claims = claims and after == NEW  # as in Redis, for the streams that follow, too
            part: Part | None
            ends = False
            if group.policy is not None:
                turn = self._turn(client, key, stream, group, is_begun=is_begun)
                part = self._by_policy(turn, header, after, caps, claims=claims)
                ends = turn.ends
            elif after != NEW:
                part = self._history(client, header, key, stream, group, after, caps)
            elif claims:
                part = self._claimed_and_new(client, header, key, stream, group, caps)
            else:
                part = self._new_entries(client, header, key, stream, group, caps)
            if part is not None:
                parts.append(part)
                is_begun = is_begun or type(part) is not bytes or not part.endswith(_NO_ENTRIES)
            if ends:
                break
        return parts, claims

    # -- a policy ------------------------------------------------------------------------------

    def _turn(
        self, client: Client, key: bytes, stream: Stream, group: Group, *, is_begun: bool = False
    ) -> PolicyTurn:
        """The consumer's turn to read a group with a policy; it is created if need be."""
        is_created = self.consumer not in group.consumers
        consumer = seen_consumer(client, key, group, self.consumer)
        if is_created:
            propagate_consumer(client, key, group, consumer)
        by_key = group.policy is not None and group.policy.keys is not None
        kind = KeyTurn if by_key else PolicyTurn
        return kind(client, key, stream, group, consumer, is_begun=is_begun)

    def _by_policy(
        self, turn: PolicyTurn, header: bytes, after: EntryID, caps: NoCaps, *, claims: bool
    ) -> Part | None:
        """Read a stream whose group has a policy; None if there is nothing."""
        if after != NEW:
            turn.history(after, self.count, caps)
            if not turn.count:
                caps.spend(0, 0)
            return turn.part(header)
        stream, group, client = turn.stream, turn.group, turn.client
        if isinstance(turn, KeyTurn):
            min_idle_ms = self._request.min_idle_ms if claims else None
            turn.read(self.count, caps, noack=self.noack, min_idle_ms=min_idle_ms)
            return turn.part(header) if turn.count else None
        if not self.noack:
            turn.take_due(self.count, caps, with_times=claims)
            if claims:
                assert self._request.min_idle_ms is not None
                turn.claim(self._request.min_idle_ms, self.count, caps)
            turn.commit()
        count = turn.new_count(self.count, noack=self.noack)
        if not turn.count and not claims and count == self.count:
            part = self._new_entries(client, header, turn.key, stream, group, caps)
            turn.note_new(0 if part is None else 1)
            return part
        ids = EntryIDs()
        if count and caps.admits() and group.last_delivered_id < stream.last_id:
            chunks, size_bytes = caps.read(stream, ids, group.last_delivered_id + 1, count)
            turn.add_new(ids, chunks, size_bytes, caps, with_times=claims)
        if ids.count:
            self._deliver(client, turn.key, stream, group, turn.consumer, ids)
            turn.note_new(ids.count)
        return turn.part(header) if turn.count else None

    def _await_due(self, client: Client, streams: list[Stream]) -> None:
        """Nothing was found: a client that waits is to be woken when an entry falls due."""
        if self._request.block_ms is None or self.noack:
            return
        for key, stream in zip(self._request.keys, streams, strict=True):
            group = stream.groups[self.group]
            if group.policy is not None:
                await_due(client, key, stream, group.policy)

    # -- new entries ---------------------------------------------------------------------------

    @cython.cfunc
    def _new_entries(
        self,
        client: Client,
        header: bytes,
        key: bytes,
        stream: Stream,
        group: Group,
        caps: NoCaps,
    ) -> Part | None:
        """Deliver what no consumer of the group was given yet; None if there is nothing."""
        ids: EntryIDs = _IDS
        ids.clear()
        chunks: list[bytes] | None = None  # of the reply, unless it is sent in pieces
        size_bytes = 0
        start = group.last_delivered_id + 1
        if group.last_delivered_id < stream.last_id:
            if caps is not NO_CAPS:
                chunks, size_bytes = caps.read(stream, ids, start, self.count)
            elif not is_long(stream, start, MAX_ID, self.count):
                chunks = stream.read_from(ids, start, self.count)
            else:
                ids = stream.ids(start, MAX_ID, self.count)
        consumer: Consumer | None = group.consumers.get(self.consumer)
        if consumer is None:
            consumer = new_consumer(client, key, group, self.consumer)
            if self.noack or not ids.count:
                propagate_consumer(client, key, group, consumer)
        else:
            consumer.seen_ms = client.instance.now_ms
        if not ids.count:
            return None
        self._deliver(client, key, stream, group, consumer, ids)
        if chunks is None:
            return LongRange(stream.snapshot(start, MAX_ID, self.count), header)
        header = header + replies.array_header(ids.count)
        caps.spend(ids.count, size_bytes)
        return header + chunks[0] if len(chunks) == 1 else b"".join((header, *chunks))

    @cython.cfunc
    def _deliver(
        self,
        client: Client,
        key: bytes,
        stream: Stream,
        group: Group,
        consumer: Consumer,
        ids: EntryIDs,
    ) -> None:
        """Note that the consumer is given the next entries of the stream, and propagate it."""
        instance: Instance = client.instance
        now_ms: cython.long = instance.now_ms
        advance_group(stream, group, ids)
        latency: DeliveryLatency = instance.stats.delivery_latency
        latency.observe(ids, now_ms)
        if group.delivery_latency is not None:
            group.delivery_latency.observe(ids, now_ms)
        group_changed(client, key)
        if not self.noack:
            group.deliver(consumer, ids, now_ms)
            consumer.active_ms = now_ms
            if instance.propagation.sinks:
                propagate_delivery(client, key, group, consumer, ids, now_ms)
        elif stream.policy is not None:
            acknowledged(client, key, stream)
        if instance.propagation.sinks:
            propagate_position(client, key, group)

    # -- CLAIM ---------------------------------------------------------------------------------

    def _claimed_and_new(
        self,
        client: Client,
        header: bytes,
        key: bytes,
        stream: Stream,
        group: Group,
        caps: NoCaps,
    ) -> Part | None:
        """Claim what is pending for long, then deliver new entries; None if there is nothing."""
        request = self._request
        is_created = request.consumer not in group.consumers
        consumer = seen_consumer(client, key, group, request.consumer)
        assert request.min_idle_ms is not None
        turn = ClaimTurn(client, key, stream, group, consumer)
        turn.take(request.min_idle_ms, request.count, caps)
        claimed = turn.count
        room = request.count if request.count == ALL else request.count - claimed
        ids = EntryIDs()
        if room and group.last_delivered_id < stream.last_id:
            caps.read(stream, ids, group.last_delivered_id + 1, room)
        for given, entry in enumerate(stream.entries_of(list(ids))):
            if not caps.admits():
                ids.cut(given)
                break
            assert entry is not None
            turn.give(entry, 0, 0, caps)
        if is_created and not claimed and (request.noack or not ids.count):
            propagate_consumer(client, key, group, consumer)
        if ids.count:
            self._deliver(client, key, stream, group, consumer, ids)
        if not turn.count:
            return None
        return b"".join([header, replies.array_header(turn.count), *turn.pieces])

    def _wake_ms(self, instance: Instance, streams: list[Stream]) -> int:
        """When something may be claimable, if nothing but time passes; monotonic time."""
        now_ms, min_idle_ms = instance.now_ms, self._request.min_idle_ms
        assert min_idle_ms is not None
        groups = [stream.groups[self.group] for stream in streams]
        claimable_ms = min([next_claimable_ms(group, now_ms, min_idle_ms) for group in groups])
        return instance.monotonic_ms + (claimable_ms - now_ms)

    # -- history -------------------------------------------------------------------------------

    def _history(
        self,
        client: Client,
        header: bytes,
        key: bytes,
        stream: Stream,
        group: Group,
        after: EntryID,
        caps: NoCaps,
    ) -> Part:
        """The consumer's pending entries after an ID: the part of the reply, never empty.

        The new times and counts are not propagated, as in Redis. An entry whose content was deleted
        keeps its own.
        """
        request = self._request
        is_created = request.consumer not in group.consumers
        consumer = seen_consumer(client, key, group, request.consumer)
        if is_created:
            propagate_consumer(client, key, group, consumer)
        entries: list[bytes] = []
        delivered: list[Row] = []
        walk = consumer.pending.rows_from(after + 1)
        if caps is NO_CAPS:
            rows = list(walk if request.count == ALL else islice(walk, request.count))
            ids = [row[0] for row in rows]
            if is_long_pick(stream, ids):
                there = stream.presence_of(ids)
                delivered += compress(rows, [entry is not None for entry in there])
                group.claim_all(delivered, consumer, client.instance.now_ms, deliveries=1)
                return LongPick(stream.pick(ids), header, client.resp)
            walk = iter(rows)
        while len(entries) != request.count and caps.admits():
            rows = some_rows(walk, request.count, len(entries), caps)
            if not rows:
                break
            for row, entry in zip(rows, stream.entries_of([row[0] for row in rows]), strict=True):
                if entry is not None:
                    delivered.append(row)
                entries.append(entry or deleted_entry(row[0], client.resp))
                caps.spend(1, len(entries[-1]))
        group.claim_all(delivered, consumer, client.instance.now_ms, deliveries=1)
        if not entries:
            caps.spend(0, 0)
        return b"".join([header, replies.array_header(len(entries)), *entries])


# Requests that were parsed, for all servers of the process.
_KNOWN: RequestCache[GroupRead] = RequestCache()
