"""The memory of clients, what one holds and a total over all, and all in use; limits on output.

    structure      connection, session and client
    output         replies that are not sent, or that the peer has not taken
    query buffer   bytes that are no whole request yet, or come after one that halts the client
    request        one that waits, and its places in the queues of keys
    transaction    queued requests and watched keys
    names          subscriptions and prefixes of client-side caching

The count of a client is updated when its connection has read or is about to write, if it then holds
more than its structure (`note`). What the peer takes meanwhile is seen when the transport's buffer
is nearly empty, or by `look_again`, which also finds what clients hold for other reasons. So the
total takes no time to read, and is at most a second old.

client-output-buffer-limit: the server checks a connection's output buffer
(server/loop/connection.py). `output_room_bytes` counts replies that are still being collected, too,
so that a batch stops when its output exceeds the limit. As in Redis, an EXEC always runs to its
end; only its replies are dropped.

Source: Redis 8.2, for what counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import cython

from commands.config.directive_kinds import OutputLimit
from commands.core.blocked_clients import PLACE_BYTES, BlockedClients
from commands.core.client import Client, Clients
from commands.core.gates import (
    GATE_AUTH,
    GATE_CLIENT_MEMORY,
    GATE_MONITOR,
    GATE_PRIMARY,
    GATE_REPLICA,
)
from commands.core.instance import Instance
from commands.transactions.transaction import Transaction
from commands.transactions.watched_keys import WatchedKeys
from protocol.records import entity
from protocol.requests import Argv
from storage.keyspace.database import Database

# The size of a client's static output buffer in Redis.
_BEFORE_LOGIN = OutputLimit(hard_bytes=16 * 1024, soft_bytes=0, soft_seconds=0)
_LIMITED_GATES = GATE_AUTH | GATE_REPLICA
# The requests of a client without limits wait while it leaves more output than this unread.
MAX_UNSENT_BYTES: cython.Py_ssize_t = 1024 * 1024
_UNHELD_GATES = GATE_MONITOR | GATE_PRIMARY
_MODE_GATES = GATE_REPLICA | GATE_MONITOR | GATE_PRIMARY
_REPLICATION_GATES = GATE_PRIMARY | GATE_REPLICA


def is_unlimited(client: Client) -> bool:
    """Return True if the client's output has no limit, as an ordinary client's by default."""
    instance: Instance = client.instance
    return not (instance.limits_output or client.gates & _LIMITED_GATES or client.subscriptions)


def output_limit(client: Client) -> OutputLimit:
    """The limits of the client's class; a fixed one before login, as in Redis."""
    if client.gates & GATE_AUTH:
        return _BEFORE_LOGIN
    limits = client.instance.config.client_output_buffer_limit
    if client.gates & GATE_REPLICA:
        return _of_replica(limits["replica"], client.instance.config.repl_backlog_size)
    return limits["pubsub" if client.subscriptions else "normal"]


def _of_replica(limit: OutputLimit, backlog_bytes: int) -> OutputLimit:
    """A replica's limits, raised to at least the size of the backlog, as in Redis."""
    if not limit.hard_bytes or limit.hard_bytes >= backlog_bytes:
        return limit
    return OutputLimit(backlog_bytes, limit.soft_bytes, limit.soft_seconds)


def output_room_bytes(client: Client) -> int | None:
    """Return the number of bytes that `client.output` may grow by; None without a limit."""
    if is_unlimited(client):
        return None
    hard_bytes = output_limit(client).hard_bytes
    if not hard_bytes:
        return None
    return hard_bytes - client.connection.unsent_bytes()


def waits_for_peer(client: Client) -> bool:
    """Return True if a client's next request waits while much of its output is unread.

    Not where a limit closes clients that leave too much unread, as in Redis.
    """
    instance: Instance = client.instance
    if client.gates & _UNHELD_GATES or instance.gates & GATE_CLIENT_MEMORY:
        return False
    return is_unlimited(client)


def drop_for_output(client: Client) -> None:
    """Close the connection of a client whose unsent output exceeds its limit, at once."""
    instance = client.instance
    instance.stats.client_output_buffer_limit_disconnections += 1
    reason = "output buffer limit"
    line = f"{reason}: closing {client.address.decode()}"
    instance.host.log_bounded("warning", reason, line)
    client.connection.abort()


# A connection without its buffers, as measured.
CLIENT_BYTES: cython.Py_ssize_t = 4480
# A queued request beside its words; a word of a parsed request beside its bytes.
_QUEUED_BYTES = 150
_WORD_BYTES = 41

CLASSES: cython.Py_ssize_t = 19
_SMALLEST_BITS: cython.Py_ssize_t = 15

# How a client counts: its memory may be freed by eviction, or not.
UNCOUNTED: cython.long = 0
EVICTABLE: cython.long = 1
SPARED: cython.long = 2
REPLICA: cython.long = 3


# What few clients have: flags, numbers of subscriptions (channels, patterns, shard channels), of
# queued requests and of watched keys, where invalidations go, name and version of the library.
Modes: TypeAlias = "tuple[bytes, tuple[int, int, int], int, int, int, bytes, bytes]"


@cython.cclass
class ClientMemory:
    """The memory of one server's clients, in bytes."""

    def __init__(self, instance: Instance) -> None:
        self._blocked: BlockedClients = instance.feature(BlockedClients)
        self.total_bytes = 0
        self.replica_bytes = 0  # of links to replicas
        self.evictable_bytes = 0  # of neither replicas nor primaries, nor under CLIENT NO-EVICT
        # Clients that may be evicted, by size: up to 32 KiB, up to the double, ..., above 4 GiB.
        self._classes: list[dict[Client, None]] = [{} for _ in range(CLASSES)]
        # Clients that leave output in the transport: it shrinks when they read.
        self.slow: dict[Client, None] = {}
        self._to_look_at: list[Client] = []
        self._part = 0
        clients = instance.feature(Clients)
        clients.on_new.append(self.update)
        clients.on_close.append(self.forget)

    # -- counting ------------------------------------------------------------------------------

    def note(self, client: Client) -> None:
        """Update the count of a client that may have more than its structure, or has had it."""
        if (
            client.query_buffer_bytes
            or client.queued_bytes
            or client.named_bytes
            or client.counted_bytes != CLIENT_BYTES
        ):
            self.update(client)

    def update(self, client: Client) -> None:
        """Count a client as it is now."""
        self._take_out(client)
        if client.closed:
            return
        self._put_in(client, self.bytes_of(client))

    def add_output(self, client: Client, start: int) -> None:
        """Count the replies of a client from the one at `start` on, too."""
        added = sum(map(len, client.output[start:]))
        if added:
            counted = client.counted_bytes
            self._take_out(client)
            self._put_in(client, counted + added)

    def largest(self) -> Client | None:
        """A client of the largest size that there is, of those that may be evicted."""
        for clients in reversed(self._classes):
            if clients:
                return next(reversed(clients))
        return None

    @cython.cfunc
    def _put_in(self, client: Client, size_bytes: cython.Py_ssize_t) -> None:
        client.counted_bytes = size_bytes
        client.counted_as = _kind(client)
        self.total_bytes += size_bytes
        if client.counted_as == EVICTABLE:
            self.evictable_bytes += size_bytes
            self._classes[class_of(size_bytes)][client] = None
        elif client.counted_as == REPLICA:
            self.replica_bytes += size_bytes

    def forget(self, client: Client) -> None:
        """The client's connection has closed."""
        self._take_out(client)
        self.slow.pop(client, None)

    @cython.cfunc
    def _take_out(self, client: Client) -> None:
        self.total_bytes -= client.counted_bytes
        if client.counted_as == EVICTABLE:
            self.evictable_bytes -= client.counted_bytes
            del self._classes[class_of(client.counted_bytes)][client]
        elif client.counted_as == REPLICA:
            self.replica_bytes -= client.counted_bytes
        client.counted_as = UNCOUNTED
        client.counted_bytes = 0

    def set_slow(self, client: Client, *, is_slow: bool) -> None:
        """Note that a client has left much in the transport, or has taken most of it."""
        if is_slow and not client.closed:
            self.slow[client] = None
        else:
            self.slow.pop(client, None)
        self.update(client)

    def look_at_slow(self) -> None:
        """Update the counts of the clients that leave output in the transport."""
        for client in list(self.slow):
            self.update(client)

    def look_again(self, clients: Iterable[Client], share: int) -> None:
        """Update the slow clients, and one of `share` parts of all, in turns."""
        self.look_at_slow()
        if not self._to_look_at:
            self._to_look_at = list(clients)
            self._part = max(16, len(self._to_look_at) // share + 1)
        part = self._to_look_at[-self._part :]
        del self._to_look_at[-self._part :]
        for client in part:
            self.update(client)

    # -- what one client holds -----------------------------------------------------------------

    def bytes_of(self, client: Client) -> int:
        """The memory of a client (CLIENT LIST: tot-mem)."""
        size: cython.Py_ssize_t = CLIENT_BYTES + client.query_buffer_bytes
        size += client.named_bytes + output_bytes(client)
        if client.is_blocked or client.postponed is not None:
            size += words_bytes(self.waiting_request(client))
            size += PLACE_BYTES * self._blocked.places_of(client)
        if client._features:
            size += _transaction_bytes(client)
        return size

    # -- CLIENT LIST ---------------------------------------------------------------------------

    def is_plain(self, client: Client) -> bool:
        """Return True if a client has no mode, but perhaps client-side caching."""
        return not (
            client.gates & _MODE_GATES
            or client._features
            or client.subscriptions
            or client.state
            or client.no_evict
            or client.no_touch
            or client.postponed is not None
            or client.connection.unix_socket
        )

    def line_values(
        self, client: Client, own: Sequence[bytes], modes: Modes, monotonic_ms: cython.long
    ) -> tuple[bytes | int, ...]:
        """The values of a client's line. `own`: the request that it has, if it runs.

        Compiled, for a list of ten thousand clients.
        """
        flags, subscriptions, queued, watched, redirect_id, library, version = modes
        channels, patterns, shard_channels = subscriptions
        connection = client.connection
        unsent_bytes: cython.Py_ssize_t = output_bytes(client)
        request_bytes: cython.Py_ssize_t = sum(map(len, own)) if own else 0
        size: cython.Py_ssize_t = self.bytes_of(client) + (words_bytes(own) if own else 0)
        if flags != b"N":
            request_bytes += sum(map(len, self.waiting_request(client)))
        return (
            client.id,
            client.address,
            connection.local_address,
            connection.fd,
            client.name,
            (monotonic_ms - client.created_ms) // 1000,
            (monotonic_ms - client.last_interaction_ms) // 1000,
            flags,
            client.db.index,
            channels,
            patterns,
            shard_channels,
            queued,
            watched,
            client.query_buffer_bytes,
            request_bytes,
            client.queued_bytes,
            len(client.output),
            unsent_bytes,
            size,
            b"rw" if unsent_bytes else b"r",
            client.last_command or b"NULL",
            b"(superuser)" if client.gates & GATE_PRIMARY else client.user,
            redirect_id,
            client.resp,
            library,
            version,
            client.net_input_bytes,
            client.net_output_bytes,
            client.commands,
            client.reads,
            client.batched_requests,
            client.batches,
        )

    def waiting_request(self, client: Client) -> Argv:
        """The request that a client waits with, blocked or held back."""
        waiting = self._blocked.clients.get(client)
        return waiting.argv if waiting is not None else client.postponed or []


@cython.cclass
class MemoryUse:
    """The memory that one instance uses (commands/eviction/eviction.py says of what)."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._databases: list[Database] = instance.databases
        self._clients: ClientMemory = instance.feature(ClientMemory)
        self.startup_bytes = 0  # the server sets it
        self.rest_bytes = 0  # what is measured several times a second
        self.peak_bytes = 0
        self.peak_ms = 0  # when it was reached

    def used_bytes(self) -> int:
        """The memory in use, as `maxmemory` counts it."""
        used: cython.long = self.startup_bytes + self.rest_bytes
        used += self._clients.total_bytes - self._clients.replica_bytes
        db: Database
        for db in self._databases:
            if db.values:
                used += db.memory_bytes()
        if used > self.peak_bytes:
            self.peak_bytes, self.peak_ms = used, self._instance.now_ms
        return used

    def recount(self, limit: int) -> None:
        """Count up to `limit` values of each database again that no command has changed.

        Work in the background makes some smaller: idempotent IDs expire, nodes are packed.
        """
        for db in self._databases:
            db.recount(limit)


def words_bytes(words: Iterable[bytes]) -> int:
    """The memory of a request that is parsed."""
    size: cython.Py_ssize_t = 0
    for word in words:
        size += len(word) + _WORD_BYTES
    return size


def output_bytes(client: Client) -> int:
    """The memory of the replies and messages that a client has not taken (CLIENT LIST: omem)."""
    size: cython.Py_ssize_t = client.connection.unsent_bytes()
    for part in client.output:
        size += len(part)
    if client.long_reply is not None:
        size += sum(map(len, client.long_reply.queued_messages))
    return size


def _transaction_bytes(client: Client) -> int:
    """The memory of the queued requests and the watched keys of a client."""
    transaction = client.feature_if_used(Transaction)
    watched = client.feature_if_used(WatchedKeys)
    queued = 0 if transaction is None else len(transaction.requests)
    watched_bytes = 0 if watched is None else watched.memory_bytes
    return client.queued_bytes + queued * _QUEUED_BYTES + watched_bytes


def class_of(size_bytes: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The size class of a client."""
    number: cython.Py_ssize_t = 0
    size_bytes >>= _SMALLEST_BITS
    while size_bytes and number < CLASSES - 1:
        size_bytes >>= 1
        number += 1
    return number


def _kind(client: Client) -> int:
    if client.gates & GATE_REPLICA:
        return REPLICA
    if client.no_evict or client.gates & GATE_PRIMARY:
        return SPARED
    return EVICTABLE


@entity
class ClientCounts:
    """What INFO looks at each client for; all but `held_back` without the links of replication."""

    connected: int = 0
    subscribed: int = 0
    active: int = 0  # have sent a request lately
    held_back: int = 0  # their request is, by CLIENT PAUSE, a failover or a shutdown
    input_bytes: int = 0  # of the client with most
    output_bytes: int = 0


def count_clients(instance: Instance, active_since_ms: cython.long) -> ClientCounts:
    """Look at each client once: there may be ten thousand."""
    counts = ClientCounts()
    connected: cython.Py_ssize_t = 0
    subscribed: cython.Py_ssize_t = 0
    active: cython.Py_ssize_t = 0
    input_bytes: cython.Py_ssize_t = 0
    client: Client
    for client in instance.feature(Clients).by_id.values():
        if client.postponed is not None:
            counts.held_back += 1
        if client.gates & _REPLICATION_GATES:
            continue
        connected += 1
        subscribed += client.subscriptions > 0
        active += client.last_interaction_ms > active_since_ms and client.reads > 0
        if client.query_buffer_bytes > input_bytes:
            input_bytes = client.query_buffer_bytes
        if client.output:
            counts.output_bytes = max(counts.output_bytes, sum(map(len, client.output)))
    counts.connected, counts.subscribed, counts.active = connected, subscribed, active
    counts.input_bytes = input_bytes
    return counts
