"""Subscriptions to channels, patterns and shard channels, and the delivery of messages (fan-out).

Guarantees: a message goes to the subscribers of its channel first, in the order in which they
subscribed, then to those of each pattern that it matches; a client gets it once per subscription
that matches. It is encoded once per protocol version, however many clients receive it. Shard
channels have a namespace of their own: PUBLISH does not reach them.

PUBLISH and SPUBLISH are here, the commands of subscribers in commands/pubsub/messages.py. Messages
are not stored: a client that subscribes later does not get them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

import cython

from commands.cluster.mode import ClusterMode
from commands.core.client import Client, Clients
from commands.core.gates import GATE_SUBSCRIBED
from commands.core.instance import Instance
from commands.core.registry import (
    FAST,
    LOADING,
    MAY_REPLICATE,
    PUBSUB,
    STALE,
    KeySpec,
    command,
)
from commands.keys.pattern import literal_of, matching
from protocol import replies
from protocol.request import SHORT_BYTES, Request, key_slot

# As measured: a client's name, beside its bytes; a name in the table of all; what a pattern adds.
SUBSCRIPTION_BYTES = 160
NAME_BYTES = 250
_PATTERN_BYTES = 100

# A part of a channel is looked up in the time in which this many patterns are compared with it.
LOOKUP_COST = 2

_PUBLISHES = PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE
# A PUBLISH takes long from this many bytes on, and a delivery as long as some bytes.
_QUICK_BYTES = SHORT_BYTES
_RECEIVER_BYTES = 500

Names: TypeAlias = "dict[bytes, None]"  # in the order of subscription


class Subscriber(Protocol):
    """The part of a client that pub/sub uses (commands/core/client.py)."""

    resp: int
    gates: int
    subscriptions: int  # how many, of all kinds
    named_bytes: int  # memory of them, and of the prefixes of client-side caching

    def send(self, data: bytes) -> None:
        """Send a message."""


class Subscriptions:
    """One kind of subscription: for each name, its subscribers in their order."""

    def __init__(self) -> None:
        self.by_name: dict[bytes, dict[Subscriber, None]] = {}
        self._by_client: dict[Subscriber, Names] = {}

    def __len__(self) -> int:
        return len(self.by_name)

    def add(self, client: Subscriber, name: bytes) -> None:
        """Subscribe; nothing if it is subscribed already."""
        names = self._by_client.setdefault(client, {})
        if name in names:
            return
        names[name] = None
        if name not in self.by_name:
            self._begin(name)
        self.by_name[name][client] = None
        client.subscriptions += 1
        client.named_bytes += SUBSCRIPTION_BYTES + len(name)
        update_gate(client)

    def remove(self, client: Subscriber, name: bytes) -> None:
        """Unsubscribe; nothing if it is not subscribed."""
        names = self._by_client.get(client)
        if names is None or name not in names:
            return
        del names[name]
        if not names:
            del self._by_client[client]
        subscribers = self.by_name[name]
        del subscribers[client]
        if not subscribers:
            self._end(name)
        client.subscriptions -= 1
        client.named_bytes -= SUBSCRIPTION_BYTES + len(name)
        update_gate(client)

    def _begin(self, name: bytes) -> None:
        """Add a name for its first subscriber."""
        self.by_name[name] = {}

    def _end(self, name: bytes) -> None:
        """Remove a name without subscribers."""
        del self.by_name[name]

    def names_of(self, client: Subscriber) -> list[bytes]:
        """The names that a client is subscribed to, in the order of subscription."""
        return list(self._by_client.get(client, ()))

    def count_of(self, client: Subscriber) -> int:
        """Return how many they are."""
        return len(self._by_client.get(client, ()))

    def count(self, name: bytes) -> int:
        """Return the number of clients subscribed to `name`."""
        return len(self.by_name.get(name, ()))


class Patterns(Subscriptions):
    """The subscriptions to patterns, and which of them match a channel.

    A channel contains a literal of each pattern that matches it. So, of many patterns, only those
    are compared whose literal is a part of the channel.
    """

    def __init__(self) -> None:
        super().__init__()
        # By literal: the pattern that has it, or all that do.
        self._by_literal: dict[bytes, bytes | Names] = {}
        self._lengths: Counter[int] = Counter()  # of the literals

    def _begin(self, name: bytes) -> None:
        super()._begin(name)
        literal = literal_of(name)
        others = self._by_literal.get(literal)
        if others is None:
            self._by_literal[literal] = name
            self._lengths[len(literal)] += 1
        elif isinstance(others, dict):
            others[name] = None
        else:
            self._by_literal[literal] = {others: None, name: None}

    def _end(self, name: bytes) -> None:
        super()._end(name)
        literal = literal_of(name)
        others = self._by_literal[literal]
        if isinstance(others, dict):
            del others[name]
        if not isinstance(others, dict) or not others:
            del self._by_literal[literal]
            self._lengths[len(literal)] -= 1
            self._lengths += Counter()  # without lengths that none has

    def fitting(self, channel: bytes) -> list[bytes]:
        """The patterns that match `channel`; without an index the oldest first."""
        if len(self._lengths) * len(channel) * LOOKUP_COST < len(self.by_name):
            return matching(self._candidates(channel), channel)
        return matching(self.by_name, channel)

    def _candidates(self, channel: bytes) -> list[bytes]:
        """The patterns whose literal is a part of `channel`."""
        parts = {
            channel[start : start + length]
            for length in self._lengths
            for start in range(len(channel) - length + 1)
        }
        candidates: list[bytes] = []
        for part in parts & self._by_literal.keys():
            found = self._by_literal[part]
            candidates += found if isinstance(found, dict) else (found,)
        return candidates


class PubSub:
    """The subscriptions of all clients."""

    def __init__(self, instance: Instance) -> None:
        self.channels = Subscriptions()
        self.patterns = Patterns()
        self.shard_channels = Subscriptions()
        instance.publish = self.publish
        instance.feature(Clients).on_close.append(self.forget)

    def publish(self, channel: bytes, message: bytes) -> int:
        """Send to the subscribers of the channel and of the patterns; how many got it."""
        receivers = 0
        subscribers = self.channels.by_name.get(channel)
        if subscribers:
            receivers = _deliver(subscribers, (b"message", channel, message))
        patterns = self.patterns
        if patterns.by_name:
            for pattern in patterns.fitting(channel):
                words = (b"pmessage", pattern, channel, message)
                receivers += _deliver(patterns.by_name[pattern], words)
        return receivers

    def publish_to_shard(self, channel: bytes, message: bytes) -> int:
        """Send to the subscribers of a shard channel; how many got it."""
        subscribers = self.shard_channels.by_name.get(channel)
        return _deliver(subscribers, (b"smessage", channel, message)) if subscribers else 0

    def counts_of(self, client: Subscriber) -> tuple[int, int, int]:
        """How many channels, patterns and shard channels a client has subscribed to."""
        channels, patterns = self.channels.count_of(client), self.patterns.count_of(client)
        return channels, patterns, self.shard_channels.count_of(client)

    def memory_bytes(self) -> int:
        """The memory of the tables, beside that of the clients' own names."""
        names = sum(map(len, (self.channels, self.patterns, self.shard_channels)))
        return names * NAME_BYTES + len(self.patterns) * _PATTERN_BYTES

    def leave_slots(self, slots: int) -> None:
        """End the subscriptions to shard channels in a set of slots, and tell the clients.

        Source: Redis 8.2, which does so whenever a slot changes its owner.
        """
        table = self.shard_channels
        for name in [name for name in table.by_name if slots >> key_slot(name) & 1]:
            head = replies.bulk(b"sunsubscribe") + replies.bulk(name)
            for client in list(table.by_name[name]):
                table.remove(client, name)
                count = replies.integer(table.count_of(client))
                client.send(replies.push_header(3, client.resp) + head + count)

    def forget(self, client: Subscriber) -> None:
        """End all subscriptions of a client, without messages to it."""
        for kind in (self.channels, self.patterns, self.shard_channels):
            for name in kind.names_of(client):
                kind.remove(client, name)


def is_subscribed(client: Subscriber) -> bool:
    """Return True if the client has any subscription: Redis's pub/sub mode."""
    return client.subscriptions > 0


def update_gate(client: Subscriber) -> None:
    """A RESP2 client with subscriptions may send few commands. Call when either changes."""
    if client.resp == 2 and is_subscribed(client):
        client.gates |= GATE_SUBSCRIBED
    else:
        client.gates &= ~GATE_SUBSCRIBED


def _deliver(subscribers: Iterable[Subscriber], words: Sequence[bytes]) -> int:
    """Send one message, which is encoded once for each protocol; how many clients there were."""
    array = push = b""
    receivers = 0
    for client in subscribers:
        if client.resp == 3:
            push = push or replies.push_header(len(words), 3) + replies.bulks(words)
            client.send(push)
        else:
            array = array or replies.bulk_array(words)
            client.send(array)
        receivers += 1
    return receivers


@command("PUBLISH", arity=3, flags=_PUBLISHES, is_quick=True)
def publish(client: Client, argv: Request) -> bytes:
    """Integer: the number of deliveries, one per matching subscription. Source: Redis 7.2."""
    instance = client.instance
    if instance.is_cluster or instance.propagation.feeds_stream:
        _tell_others(client, argv, is_sharded=False)
    message = argv.word(2)
    return _delivered(argv, message, instance.publish(argv.word(1), message))


@command(
    "SPUBLISH",
    arity=3,
    flags=_PUBLISHES,
    keys=(KeySpec(begin=1, flags=(b"not_key",)),),
    is_quick=True,
)
def spublish(client: Client, argv: Request) -> bytes:
    """Integer: the number of clients that received the message. Source: Redis 7.2."""
    _tell_others(client, argv, is_sharded=True)
    pubsub = client.instance.feature(PubSub)
    message = argv.word(2)
    return _delivered(argv, message, pubsub.publish_to_shard(argv.word(1), message))


def _delivered(argv: Request, message: bytes, receivers: cython.Py_ssize_t) -> bytes:
    argv.takes_long = receivers * (len(message) + _RECEIVER_BYTES) > _QUICK_BYTES
    return replies.integer(receivers)


def _tell_others(client: Client, argv: Request, *, is_sharded: bool) -> None:
    """Send a message to the replicas, or to the other nodes of the cluster, or of the shard."""
    node = client.instance.feature(ClusterMode).node
    if node is None:
        client.instance.propagation.propagate_message(argv.words())
    else:
        node.publish(argv[1], argv[2], is_sharded)
