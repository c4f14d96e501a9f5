"""The metrics of streams, groups and consumers.

Streams come in the order in which they were created, as far as `metrics-streams` chooses them and
up to `metrics-max-streams`. What is beyond a limit is counted as omitted. A step is one stream,
or a few of its groups.

Label values are unique: of two names that would be written alike, the second is omitted, and so is
a name of more than a kilobyte.

Ages need IDs that are times; without one there is no sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from commands.core.blocked_clients import BlockedClients
from commands.core.instance import Instance
from commands.keys.objects import value_bytes
from commands.keys.pattern import matches
from server.metrics import names
from server.metrics.names import Page, label_value
from storage.entries.entry_id import MAX_ID, EntryID, id_ms
from storage.groups.group import BOUNDS_MS, UNKNOWN, Consumer, DeliveryLatency, Group, is_time
from storage.keyspace.database import Database
from storage.nodes.listpack_node import DamagedNode
from storage.stream import Stream, lag

MS = 1000
# Longer names are omitted: each is in some twenty lines.
MOST_NAME_BYTES = 1024
# Groups per allowed stream; the limit holds for all streams together.
GROUPS_PER_STREAM = 10
# Groups with a histogram of their own.
MOST_LATENCY_GROUPS = 100

# Keys that are looked at in one step.
_KEYS_PER_STEP = 25
_GROUPS_PER_STEP = 10
# Keys that are only counted, in one step.
_COUNTED_PER_STEP = 500

# Of the histograms.
BOUNDS_S = [bound_ms / MS for bound_ms in BOUNDS_MS]

Named = TypeVar("Named")


class Choice:
    """Glob patterns: a name must match one, and none of those with `!` before them."""

    def __init__(self, patterns: list[str]) -> None:
        words = [pattern.encode("utf-8", "surrogateescape") for pattern in patterns]
        self._wanted = [word for word in words if not word.startswith(b"!")]
        self._unwanted = [word[1:] for word in words if word.startswith(b"!")]
        if self._unwanted and not self._wanted:
            self._wanted = [b"*"]
        self.is_everything = words == [b"*"]

    def __call__(self, name: bytes) -> bool:
        """Return True if the name is chosen."""
        if self.is_everything:
            return True
        return any(matches(pattern, name) for pattern in self._wanted) and not any(
            matches(pattern, name) for pattern in self._unwanted
        )


class StreamMetrics:
    """The samples of all chosen streams of an instance."""

    def __init__(self, instance: Instance, page: Page, now_ms: int) -> None:
        self.omitted_streams = self.omitted_groups = self.omitted_consumers = 0
        config = instance.config
        self._instance = instance
        self._page = page
        self._now_ms = now_ms
        self._is_wanted = Choice(config.metrics_streams)
        self._has_latency = Choice(config.metrics_latency_groups)
        self._waiters = instance.feature(BlockedClients).waiters
        # How many more may be written.
        self._streams = config.metrics_max_streams
        self._groups = GROUPS_PER_STREAM * config.metrics_max_streams
        self._consumers = config.metrics_max_consumers
        self._latency_groups = MOST_LATENCY_GROUPS

    def steps(self) -> Iterator[None]:
        """Collect the samples."""
        for db in self._instance.databases:
            yield from self._database(db)
        self._page.flush()

    def _database(self, db: Database) -> Iterator[None]:
        place = 0  # in the order of creation: keys come and go between two steps
        shown: set[str] = set()
        while self._streams > 0:
            found = list(islice(db.streams.items_from(place), _KEYS_PER_STEP))
            if not found:
                return
            place = found[-1][0] + 1
            yield from self._some(db, [key for _, key in found], shown)
            self._page.flush()
        yield from self._count_rest(db, place)

    def _some(self, db: Database, keys: list[bytes], shown: set[str]) -> Iterator[None]:
        """The streams of a few keys."""
        for key in filter(self._is_wanted, keys):
            stream = db.get(key)  # may have gone since
            if type(stream) is not Stream or db.is_expired(key, self._now_ms):
                continue
            is_long = len(key) > MOST_NAME_BYTES
            if is_long or self._streams <= 0 or (name := label_value(key)) in shown:
                self.omitted_streams += 1
                continue
            self._streams -= 1
            shown.add(name)
            text = f'db="db{db.index}",stream="{name}"'
            self._stream(db, key, stream, text)
            yield from self._groups_of(key, stream, text)
        yield

    def _count_rest(self, db: Database, place: int) -> Iterator[None]:
        """Count the streams from a place on as omitted."""
        if self._is_wanted.is_everything and not place:
            self.omitted_streams += len(db.streams)
            return
        while found := list(islice(db.streams.items_from(place), _COUNTED_PER_STEP)):
            place = found[-1][0] + 1
            self.omitted_streams += sum(self._is_wanted(key) for _, key in found)
            yield

    # -- a stream ------------------------------------------------------------------------------

    def _stream(self, db: Database, key: bytes, stream: Stream, labels: str) -> None:
        add = self._page.add
        add(names.STREAM_LENGTH, stream.length, labels)
        add(names.STREAM_GROUPS, len(stream.groups), labels)
        add(names.STREAM_NODES, stream.node_count, labels)
        add(names.STREAM_GENERATED_ID, id_ms(stream.last_id), labels)
        add(names.STREAM_DELETED_ID, id_ms(stream.max_deleted_id), labels)
        add(names.STREAM_ADDED, stream.entries_added, labels)
        add(names.STREAM_BYTES, value_bytes(key, stream), labels)
        add(names.STREAM_BLOCKED, len(self._waiters.get((db.index, key), ())), labels)
        if stream.length:
            add(names.STREAM_FIRST_ID, id_ms(stream.first_id), labels)
            add(names.STREAM_LAST_ID, _known(lambda: id_ms(stream.last_live_id)), labels)
        if stream.policy is not None and stream.policy.schedule is not None:
            add(names.STREAM_SCHEDULED, stream.policy.schedule.count, labels)

    # -- groups --------------------------------------------------------------------------------

    def _groups_of(self, key: bytes, stream: Stream, labels: str) -> Iterator[None]:
        """The groups, a few at a time."""
        self.omitted_groups += len(stream.groups)
        groups = _unique(stream.groups, self._groups)
        while found := list(islice(groups, _GROUPS_PER_STEP)):
            self._groups -= len(found)
            self.omitted_groups -= len(found)
            for name, group in found:
                text = f'{labels},group="{name}"'
                self._group(stream, group, text)
                self._latency(key, group, text)
                yield from self._consumers_of(group, text)
            yield

    def _group(self, stream: Stream, group: Group, labels: str) -> None:
        add = self._page.add
        read = group.entries_read
        add(names.GROUP_CONSUMERS, len(group.consumers), labels)
        add(names.GROUP_PENDING, len(group.pending), labels)
        add(names.GROUP_LAG, lag(stream, group), labels)
        add(names.GROUP_READ, None if read == UNKNOWN else read, labels)
        add(names.GROUP_DELIVERED_ID, id_ms(group.last_delivered_id), labels)
        oldest = next(group.pending.rows_from(0), None)
        add(names.GROUP_OLDEST_PENDING, self._age(oldest and oldest[0]), labels)
        delivered_ms = group.longest_owned_ms()
        idle_ms = 0 if delivered_ms is None else max(0, self._now_ms - delivered_ms)
        add(names.GROUP_LONGEST_IDLE, idle_ms / MS, labels)
        add(names.GROUP_LAG_SECONDS, self._age(_next_id(stream, group)), labels)
        policy = group.policy
        if policy is not None:
            is_held = 0 < policy.options.max_pending <= group.in_flight_count
            add(names.GROUP_HELD, int(is_held), labels)
            add(names.GROUP_REDELIVERED, policy.redelivered, labels)
            add(names.GROUP_DEAD_LETTERS, policy.dead_lettered, labels)

    def _age(self, entry_id: EntryID | None) -> float | None:
        """Seconds since an entry was added: 0 for none, None if its ID is no time."""
        if entry_id is None:
            return 0
        ms = id_ms(entry_id)
        return max(0, self._now_ms - ms) / MS if is_time(ms, self._now_ms) else None

    def _latency(self, key: bytes, group: Group, labels: str) -> None:
        """The histogram of a chosen group, which counts from now on if it did not yet."""
        if self._latency_groups <= 0 or not self._has_latency(b"%b/%b" % (key, group.name)):
            group.delivery_latency = None
            return
        self._latency_groups -= 1
        latency = group.delivery_latency
        if latency is None:
            latency = group.delivery_latency = DeliveryLatency()
        self._page.add_histogram(
            names.GROUP_LATENCY, BOUNDS_S, latency.cumulative(), latency.total_ms / MS, labels
        )

    # -- consumers -----------------------------------------------------------------------------

    def _consumers_of(self, group: Group, labels: str) -> Iterator[None]:
        self.omitted_consumers += len(group.consumers)
        consumers = _unique(group.consumers, self._consumers)
        while found := list(islice(consumers, _KEYS_PER_STEP)):
            self._consumers -= len(found)
            self.omitted_consumers -= len(found)
            for name, consumer in found:
                self._consumer(consumer, f'{labels},consumer="{name}"')
            yield

    def _consumer(self, consumer: Consumer, labels: str) -> None:
        idle_ms = max(0, self._now_ms - consumer.seen_ms)
        self._page.add(names.CONSUMER_PENDING, consumer.pending_count, labels)
        self._page.add(names.CONSUMER_IDLE, idle_ms / MS, labels)


def _unique(table: Mapping[bytes, Named], room: int) -> Iterator[tuple[str, Named]]:
    """The first names as label values, with what they name, without long ones and doubles."""
    shown: set[str] = set()
    for name, named in list(islice(table.items(), max(0, room))):
        if len(name) <= MOST_NAME_BYTES and (text := label_value(name)) not in shown:
            shown.add(text)
            yield text, named


def _next_id(stream: Stream, group: Group) -> EntryID | None:
    """The first entry that is not delivered yet; None if there is none, or it is damaged."""
    if group.last_delivered_id >= stream.last_id:
        return None
    ids = _known(lambda: stream.ids(group.last_delivered_id + 1, MAX_ID, 1))
    return ids.at(0) if ids else None


def _known(find: Callable[[], Named]) -> Named | None:
    """What `find` finds; None if a node of the stream is damaged."""
    try:
        return find()
    except DamagedNode:
        return None
