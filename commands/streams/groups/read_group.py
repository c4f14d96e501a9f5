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
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, cast

import cython

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import BLOCKING, MOVABLE_KEYS, WRITE, KeySpec, command
from commands.streams.groups.delivery import (
    deleted_entry,
    group_changed,
    propagate_claims,
    propagate_consumer,
    propagate_delivery,
    propagate_position,
    seen_consumer,
)
from commands.streams.ids import parse_strict
from commands.streams.ranges import LongRange, is_long, long_reply
from commands.streams.read import (
    ALL,
    NO_CAPS,
    NoCaps,
    ReadRequest,
    caps_of,
    key_positions,
    nothing_to_read,
    open_header,
    parse_read_request,
    read_header,
    read_reply,
    stream_header,
)
from commands.streams.request_cache import RequestCache
from protocol import errors
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import MAX_ID, EntryID, EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.lag import advance_group
from storage.groups.pending_block import Row
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.groups.group import DeliveryLatency
    from storage.keyspace.database import Database

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

# Up to this many entries are answered at once; a longer reply is sent in pieces.
FEW_ENTRIES = 1000


# Of the request that is executed.
_IDS = EntryIDs()


@cython.cfunc
def _count_latency(instance: Instance, group: Group, ids: EntryIDs) -> None:
    """Count how long the entries waited, which are delivered for the first time."""
    latency: DeliveryLatency = instance.stats.delivery_latency
    latency.observe(ids, instance.now_ms)
    if group.delivery_latency is not None:
        group.delivery_latency.observe(ids, instance.now_ms)


@cython.cfunc
def _read_few(client: Client, read: GroupRead) -> bytes | None:
    """The reply with a few new entries; None, and nothing is done, in other cases."""
    instance: Instance = client.instance
    db: Database = client.db
    value = db.values.get(read.key)
    if not read.is_small or type(value) is not Stream or instance.is_observed:
        return None
    stream: Stream = value
    group: Group | None = stream.groups.get(read.group)
    if group is None or (db.expires and read.key in db.expires):
        return None
    consumer: Consumer | None = group.consumers.get(read.consumer)
    if consumer is None or group.last_delivered_id >= stream.last_id:
        return None
    ids: EntryIDs = _IDS
    ids.clear()
    chunks = stream.read_from(ids, group.last_delivered_id + 1, read.count)
    if not ids.count:
        return None
    now_ms: cython.longlong = instance.now_ms
    instance.stats.keyspace_hits += 2  # as for cached requests
    if not stream.has_changed:  # saves a call
        db.memory.note(stream)
    if not client.no_touch:
        if instance.counts_accesses:
            instance.touch(stream)
        else:  # saves a call
            stream.access_ms = instance.now_ms
    instance.dirty += 1
    consumer.seen_ms = consumer.active_ms = now_ms
    advance_group(stream, group, ids)
    group.deliver(consumer, ids, now_ms)
    _count_latency(instance, group, ids)
    if instance.propagation.sinks:
        propagate_delivery(client, read.key, group, consumer, ids, now_ms)
        propagate_position(client, read.key, group)
    header = read.header_3 if client.resp == 3 else read.header_2
    return b"".join((header, b"%d\r\n" % ids.count, *chunks))


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
        return read.serve(client)
    reply = _read_few(client, read)
    if reply is not None:  # 4.4 us a request instead of 6.2
        request.mark_quick(len(reply))
        return reply
    # Redis looks at each key twice as well: for its group, and to read.
    found = read.find(client)
    client.instance.stats.keyspace_hits += len(found)
    return read.serve(client, found)


def _parse(client: Client, argv: Argv) -> GroupRead:
    """The request with its IDs resolved. Raises ReplyError."""
    request = parse_read_request(argv, client.instance.now_ms, with_group=True)
    after: list[EntryID] = []
    for key, text in zip(request.keys, request.ids, strict=True):
        find_group_to_read(client, key, request.group)
        after.append(_resolve(text))
    return GroupRead(request, after)


def _resolve(text: bytes) -> EntryID:
    """The ID after which to read, NEW for `>`. Raises ReplyError."""
    if text == b">":
        return NEW
    if text == b"$" or text == b"+":
        raise errors.xreadgroup_special_id(text)
    return parse_strict(text)


def find_group_to_read(client: Client, key: bytes, name: bytes) -> tuple[Stream, Group]:
    """A stream and its group. Raises WRONGTYPE, and NOGROUP if there is no key or no group."""
    stream: Stream | None = client.lookup_stream(
        key
    )  # a read, as far as hits and misses are concerned
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        raise errors.no_group_for_read(key, name)
    return stream, group


# A part of the reply: bytes, or a range of very many entries, which are sent in pieces.
Parts: TypeAlias = "list[bytes | LongRange]"


def _reply(client: Client, streams: int, parts: Parts) -> bytes | LongReply:
    """The whole reply."""
    if LongRange in map(type, parts):
        return long_reply([read_header(streams, client.resp), *parts])
    return read_reply(streams, cast("list[bytes]", parts), client.resp)


@cython.cclass
class GroupRead:
    """A request of XREADGROUP whose IDs are resolved. Requests that are alike share one."""

    __slots__ = (
        "_after", "_is_plain", "_request", "consumer", "count", "group", "header_2", "header_3",
        "is_small", "is_timeless", "key",
    )  # fmt: skip

    def __init__(self, request: ReadRequest, after: list[EntryID]) -> None:
        """`after`: the ID after which to read, for each key, or NEW."""
        self._request = request
        self._after = after
        self.is_timeless = request.is_timeless
        # New entries of one stream, which is what most consumers ask for.
        self._is_plain = after == [NEW] and request.min_idle_ms is None and not request.is_capped
        # A few of them: what `_read_few` takes, and what it needs for that.
        self.is_small = self._is_plain and not request.noack and 0 < request.count <= FEW_ENTRIES
        self.key, self.count = request.keys[0], request.count
        self.group, self.consumer = request.group, request.consumer
        self.header_2, self.header_3 = (open_header(self.key, resp) for resp in (2, 3))

    def find(self, client: Client) -> list[tuple[Stream, Group]]:
        """The streams and their groups. Raises WRONGTYPE and NOGROUP."""
        name = self._request.group
        return [find_group_to_read(client, key, name) for key in self._request.keys]

    def serve(
        self, client: Client, found: list[tuple[Stream, Group]] | None = None
    ) -> bytes | Block | LongReply:
        """The reply, or the decision to wait for it. Raises WRONGTYPE and NOGROUP."""
        request = self._request
        # All of them are looked up before one is served: a delivery must not end in an error.
        found = found or self.find(client)
        if self._is_plain:
            stream, group = found[0]
            parts = self._new_entries(client, request.keys[0], stream, group, NO_CAPS)
            if parts:
                return _reply(client, 1, parts)
            wake_ms = None
        else:
            parts, streams, claims = self._read_all(client, found)
            if streams:
                return _reply(client, streams, parts)
            wake_ms = self._wake_ms(client.instance.now_ms, found) if claims else None
        decision = nothing_to_read(
            client, request, self.serve, on_missing_key=True, wake_ms=wake_ms
        )
        if type(decision) is Block and self._is_plain:
            decision.finds_nothing = self.finds_nothing
        return decision

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
        client.instance.stats.keyspace_hits += 1
        consumer.seen_ms = client.instance.now_ms
        return True

    def _read_all(
        self, client: Client, found: list[tuple[Stream, Group]]
    ) -> tuple[Parts, int, bool]:
        """Read each stream: the parts of the reply, the number of streams, whether CLAIM
        applied.
        """
        request = self._request
        caps = caps_of(request)
        claims = request.min_idle_ms is not None
        parts: Parts = []
        streams = 0
        for key, after, (stream, group) in zip(request.keys, self._after, found, strict=True):
            caps.start_stream(key, client.resp)
            if not caps.admits():
                break
            if after != NEW:
                part = self._history(client, key, stream, group, after, caps)
                claims = False  # as in Redis, for the streams that follow
            elif claims:
                part = self._claimed_and_new(client, key, stream, group, caps)
            else:
                part = self._new_entries(client, key, stream, group, caps)
            if part:
                streams += 1
                parts += part
        return parts, streams, claims

    # -- new entries ---------------------------------------------------------------------------

    def _new_entries(
        self, client: Client, key: bytes, stream: Stream, group: Group, caps: NoCaps
    ) -> Parts:
        """Deliver what no consumer of the group was given yet; its part of the reply, if any."""
        request = self._request
        ids = EntryIDs()
        is_in_pieces = False
        start = group.last_delivered_id + 1  # if there is such an ID
        if group.last_delivered_id < stream.last_id:
            if not 0 < request.count <= FEW_ENTRIES and caps is NO_CAPS:
                is_in_pieces = is_long(stream, start, MAX_ID, request.count)
            if is_in_pieces:
                ids = stream.ids(start, MAX_ID, request.count)
            else:
                chunks, size_bytes = caps.read(stream, ids, start, request.count)
        is_created = request.consumer not in group.consumers
        consumer = seen_consumer(client, key, group, request.consumer)
        if is_created and (request.noack or not ids.count):
            propagate_consumer(client, key, group, consumer)
        if not ids.count:
            return []
        self._deliver(client, key, stream, group, consumer, ids)
        if is_in_pieces:
            entries = stream.snapshot(start, MAX_ID, request.count)
            return [LongRange(entries, partial(stream_header, key, resp=client.resp))]
        caps.spend(ids.count, size_bytes)
        return [stream_header(key, ids.count, client.resp), *chunks]

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
        advance_group(stream, group, ids)
        _count_latency(client.instance, group, ids)
        group_changed(client, key)
        if not self._request.noack:
            now_ms = client.instance.now_ms
            group.deliver(consumer, ids, now_ms)
            consumer.active_ms = now_ms
            if client.instance.propagation.sinks:
                propagate_delivery(client, key, group, consumer, ids, now_ms)
        propagate_position(client, key, group)

    # -- CLAIM ---------------------------------------------------------------------------------

    def _claimed_and_new(
        self, client: Client, key: bytes, stream: Stream, group: Group, caps: NoCaps
    ) -> Parts:
        """Claim what is pending for long, then deliver new entries; the part of the reply."""
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
            return []
        return [stream_header(key, turn.count, client.resp), *turn.pieces]

    def _wake_ms(self, now_ms: int, found: list[tuple[Stream, Group]]) -> int:
        """When something may be claimable, if nothing but time passes."""
        min_idle_ms = self._request.min_idle_ms
        assert min_idle_ms is not None
        return min(next_claimable_ms(group, now_ms, min_idle_ms) for _, group in found)

    # -- history -------------------------------------------------------------------------------

    def _history(
        self,
        client: Client,
        key: bytes,
        stream: Stream,
        group: Group,
        after: EntryID,
        caps: NoCaps,
    ) -> Parts:
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
        return [stream_header(key, len(entries), client.resp), *entries]


# Requests that were parsed, for all servers of the process.
_KNOWN: RequestCache[GroupRead] = RequestCache()
