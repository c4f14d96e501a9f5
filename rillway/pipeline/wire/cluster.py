"""The nodes of a Redis Cluster, used like a connection to a single server.

A request goes to the node that has its key's slot, and follows the slot when it moves
(rillway/net/routing.py). A caller with several requests in flight picks the node itself (`of`), and
asks where to repeat a request that was redirected (`redirected`).

When a node dies, requests in flight are lost with the connection, and the caller starts over, at
the node in the URL or at another one that it knew. A caller that can do without some keys
leaves out the nodes that do not answer (`leave_out`): requests for their keys then raise NodeAway
at once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from redis.crc import key_slot

from rillway.net import routing
from rillway.net.routing import Address, Step
from rillway.pipeline.wire.connection import (
    Connection,
    ConnectionLost,
    NodeAway,
    Reply,
    ServerError,
    Word,
    pack,
)
from rillway.plurals import count_of

T = TypeVar("T")

KEYLESS = {"CLUSTER", "COMMAND", "INFO", "TIME"}
KEY_PLACES = {"EVAL": 3, "XINFO": 2, "XGROUP": 2, "XREADGROUP": 5}
# Fallback URLs: the other nodes of each cluster, keyed by the URL it was opened with.
_others: dict[str, list[str]] = {}


def connect(url: str, left_out: Mapping[Address, NodeAway] | None = None) -> Connection:
    """Connect to a server, or to all nodes of its cluster.

    `left_out`: nodes that another connection has left out, and why.
    """
    first = _reached(url)
    try:
        ranges = first.call("CLUSTER", "SLOTS")
    except ServerError:  # no cluster, or the user may not ask
        return first
    except BaseException:
        first.close()
        raise
    cluster = Cluster(first, ranges, left_out)
    _others[url] = _others[first.url]
    return cluster


def _reached(url: str) -> Connection:
    """Connect to the server, or to another node of its cluster. Raises ConnectionLost."""
    try:
        return Connection(url)
    except ConnectionLost:
        for other in _others.get(url, ()):
            with suppress(ConnectionLost):
                return Connection(other)
        raise


def following(connection: Connection, key: str, action: Callable[[Connection], T]) -> T:
    """Run an action of several requests, such as a transaction, on the server that has a key.

    When the slot has moved, the action runs again on the other node; while it moves, this waits. So
    an action that is redirected must have changed nothing. Raises ServerError.
    """
    began = time.monotonic()
    while True:
        try:
            return action(connection.of(key))
        except ServerError as error:
            connection.redirected(key, error, began)
        time.sleep(routing.PAUSE_S)


def url_of(url: str, key: str) -> str:
    """Return the URL of the server, or node of a cluster, that has a key. Raises ConnectionLost."""
    with connect(url) as connection:
        return connection.of(key).url


def away_of(connection: Connection, keys: Iterable[str]) -> dict[str, NodeAway]:
    """Return the keys whose nodes are left out, and why they are."""
    return {key: error for key in keys if (error := connection.away(key))}


def away_sentences(nodes: Iterable[NodeAway], of_keys: Iterable[NodeAway]) -> list[str]:
    """`212 streams: node 127.0.0.1:7002 does not answer`, for each node.

    `nodes`: the reason for each node that is left out; `of_keys`: that of each known stream.
    """
    streams = Counter({str(error): 0 for error in nodes})
    streams.update(map(str, of_keys))
    return [
        f"{count_of(number, 'stream')}: {text}" if number else f"{text}; its streams are not known"
        for text, number in streams.items()
    ]


def is_redirection(reply: Reply) -> bool:
    """Return True for an error that says that the key is elsewhere, or not available now."""
    return isinstance(reply, ServerError) and routing.is_redirection(str(reply))


@lru_cache
def tag_of_slot(slot: int) -> str:
    """Return a hash tag for a slot: a key with this tag in braces is in the slot."""
    number = 0
    while key_slot(b"%d" % number) != slot:
        number += 1
    return str(number)


def slot_of(key: str) -> int:
    return int(key_slot(key.encode()))


def beside(prefix: str, key: str) -> str:
    """Return the name of another key in the slot of `key`. `prefix` has no braces.

    It is `prefix{key}`. For a key with braces it is `prefix{tag}:key`, where the tag is the key's
    own or, if it has none, one of its slot.
    """
    if key and "{" not in key and "}" not in key:
        return f"{prefix}{{{key}}}"
    tag, closed, _ = key.partition("{")[2].partition("}")
    if not tag or not closed:
        tag = tag_of_slot(slot_of(key))
    return f"{prefix}{{{tag}}}:{key}"


class Cluster(Connection):
    """The primaries of a cluster, each connected when first needed."""

    is_cluster = True

    def __init__(
        self, first: Connection, ranges: Reply, left_out: Mapping[Address, NodeAway] | None = None
    ) -> None:
        """`ranges`: the reply to CLUSTER SLOTS of `first`, which this takes over."""
        self.url = first.url
        self.left_out = dict(left_out or {})
        self._first = first
        self._addresses: dict[int, Address] = {}
        self._connections: dict[Address, Connection] = {}
        self._learn(ranges)

    def _learn(self, ranges: Reply) -> None:
        self.changes += 1
        self._addresses.clear()
        known: set[Address] = set()
        for begin, end, *nodes in ranges:
            addresses = [
                routing.address_of((name or b"").decode(), port, self._host)
                for name, port, *_ in nodes
            ]
            self._addresses |= dict.fromkeys(range(begin, end + 1), addresses[0])
            known.update(addresses)
        _others[self.url] = [url_at(self.url, address) for address in sorted(known)]

    @property
    def _host(self) -> str:
        return urlsplit(self.url).hostname or ""

    def _node(self, address: Address) -> Connection:
        if address in self.left_out:
            raise self.left_out[address]
        if address not in self._connections:
            self._connections[address] = Connection(url_at(self.url, address))
        return self._connections[address]

    def refresh(self) -> None:
        self._learn(self._first.call("CLUSTER", "SLOTS"))

    # -- which node -------------------------------------------------------------------------------

    def of(self, key: str) -> Connection:
        """Return the connection to the node that has a key, by the map of slots."""
        slot = slot_of(key)
        if slot not in self._addresses:
            self.refresh()
        address = self._addresses.get(slot)
        if address is None:
            raise ServerError(f"CLUSTERDOWN no node has the slot {slot} of {key}")
        return self._node(address)

    def nodes(self) -> list[Connection]:
        addresses = set(self._addresses.values()) - set(self.left_out)
        return [self._node(address) for address in sorted(addresses)]

    def leave_out(self) -> None:
        self.left_out = {}
        self.reopen()
        self.left_out = {
            address: error
            for address in sorted(set(self._addresses.values()))
            if (error := self._found_away(address)) is not None
        }

    def _found_away(self, address: Address) -> NodeAway | None:
        name = f"node {address[0]}:{address[1]}"
        try:
            (reply,) = self._node(address).call_all([("PING",)])
        except ConnectionLost:
            return NodeAway(f"{name} does not answer")
        return NodeAway(f"{name}: {reply}") if is_redirection(reply) else None

    def away(self, key: str) -> NodeAway | None:
        address = self._addresses.get(slot_of(key))
        if address is None:
            return NodeAway("no node has their slots")
        return self.left_out.get(address)

    def place(self, key: str) -> Address | None:
        return self._addresses.get(slot_of(key))

    def slot(self, key: str) -> int | None:
        return slot_of(key)

    def learn(self, error: ServerError) -> None:
        self._decide(error, 0.0)

    def _decide(self, error: ServerError, seconds: float) -> routing.Decision:
        decision = routing.decide(str(error), self._host, seconds=seconds)
        if decision.step is Step.FOLLOW:
            self.changes += 1
            self._addresses[decision.slot] = decision.address
        return decision

    def redirected(self, key: str, error: ServerError, began: float) -> Connection:
        """The node to repeat a request on; after ASK, it takes only that one.

        Raises `error` if it is no redirection, or if the first one was too long ago (`began`).
        """
        decision = self._decide(error, time.monotonic() - began)
        if decision.step in (Step.FAIL, Step.GIVE_UP):
            raise error
        if decision.step is Step.WAIT:
            time.sleep(routing.PAUSE_S)
        if decision.step is not Step.ASK:
            return self.of(key)
        node = self._node(decision.address)
        node.call("ASKING")
        return node

    # -- requests ---------------------------------------------------------------------------------

    def call(self, *words: Word) -> Reply:
        """Send one request and return its reply. Raises ServerError."""
        (reply,) = self.call_all([words])
        if isinstance(reply, ServerError):
            raise reply
        return reply

    def call_all(self, requests: Iterable[Sequence[Word]]) -> list[Reply]:
        return self.call_each(requests, lambda reply: reply)

    def call_each(
        self, requests: Iterable[Sequence[Word]], convert: Callable[[Reply], Any]
    ) -> list[Any]:
        """Send one pipeline to each node, then repeat the requests that were redirected."""
        all_words = list(requests)
        by_node: dict[Connection, list[int]] = {}
        for place, words in enumerate(all_words):
            by_node.setdefault(self._node_of(words), []).append(place)
        for node, places in by_node.items():
            node.send(b"".join(pack(*all_words[place]) for place in places))
        found: list[Any] = [None] * len(all_words)
        for node, places in by_node.items():
            for place in places:
                reply = node.receive_any()
                found[place] = reply if isinstance(reply, ServerError) else convert(reply)
        began = time.monotonic()  # shared by all of them: each could wait as long
        for place, reply in enumerate(found):
            if is_redirection(reply):
                again = self._repeated(all_words[place], reply, began)
                found[place] = again if isinstance(again, ServerError) else convert(again)
        return found

    def _node_of(self, words: Sequence[Word]) -> Connection:
        name = str(words[0]).upper()
        return self._first if name in KEYLESS else self.of(_text(words[KEY_PLACES.get(name, 1)]))

    def _repeated(self, words: Sequence[Word], reply: Reply, began: float) -> Reply:
        key = _text(words[KEY_PLACES.get(str(words[0]).upper(), 1)])
        while is_redirection(reply):
            try:
                node = self.redirected(key, reply, began)
            except ServerError as error:
                return error
            node.send(pack(*words))
            reply = node.receive_any()
        return reply

    # -- end --------------------------------------------------------------------------------------

    @property
    def database(self) -> int:
        return 0

    def reopen(self) -> None:
        """Drop all connections, and learn the nodes of the cluster again."""
        self.close()
        self._first = _reached(self.url)
        self.url = self._first.url
        self._connections.clear()
        self.refresh()

    def close(self) -> None:
        for connection in (self._first, *self._connections.values()):
            connection.close()


def _text(word: Word) -> str:
    return word.decode(errors="surrogateescape") if isinstance(word, bytes) else str(word)


def url_at(url: str, address: Address) -> str:
    """Return the URL of another node, with the same user and options."""
    parts = urlsplit(url)
    login, at, _ = parts.netloc.rpartition("@")
    host, port = address
    name = f"[{host}]" if ":" in host else host
    return urlunsplit(parts._replace(netloc=f"{login}{at}{name}:{port}"))
