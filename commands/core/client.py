"""A client: the state of one connection, and the operations that handlers perform through it.

A handler gets the client that called and its request, nothing else. The client is free of I/O:
bytes for it collect in `output` and the server writes them once per cycle; replay of the
append-only file, scripts and tests use clients without any connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol, TypeVar

import cython

from commands.core.host import DETACHED, Connection
from commands.core.instance import Instance
from commands.core.long_reply import LongReply
from protocol import errors
from protocol.errors import ReplyError
from protocol.requests import Argv
from storage.append_only.request_writer import RequestWriter
from storage.keyspace.database import Database
from storage.stream import Stream
from storage.types.value import StringValue, Value

AnyValue = TypeVar("AnyValue", bound=Value)


class Feature(Protocol):
    """The state of a feature that few clients use; a client keeps one of each kind."""

    def __init__(self) -> None: ...


State = TypeVar("State", bound=Feature)


class ClientState(IntEnum):
    """The event that a client's next request waits for (docs/architecture/server.md)."""

    READY = 0  # nothing: it runs when it arrives
    YIELDED = 1  # the next poll: the client's time slice is over
    RESUMING = 2  # the end of this cycle: what halted the client is over
    BLOCKED = 3  # a key, a time or a replica
    BEING_ANSWERED = 4  # the end of a long reply, or the peer, which leaves much output unread
    POSTPONED = 5  # the end of CLIENT PAUSE or of a failover
    CLOSING = 6  # nothing: it never runs; the connection closes once the output has left
    CLOSED = 7  # nothing: it never runs


class ClientEvent(IntEnum):
    """An event that changes a client's state."""

    BLOCK = 0  # a blocking command has found nothing, or a script has paused
    ANSWER = 1  # a command has returned a LongReply, or much output waits for the peer
    POSTPONE = 2  # CLIENT PAUSE or the like covers a request, which is kept
    RESUME = 3  # what halted the client is over
    YIELD = 4  # the time slice is over, and there are further requests
    GO_ON = 5  # the cycle ends, or the client has its next time slice
    FINISH = 6  # QUIT, a protocol error: the connection closes once the output has left
    CLOSE = 7  # the peer, a limit or the server has closed the connection


def _transitions() -> dict[tuple[ClientState, ClientEvent], ClientState]:
    states, events = ClientState, ClientEvent
    table = {
        (states.READY, events.BLOCK): states.BLOCKED,
        (states.READY, events.ANSWER): states.BEING_ANSWERED,
        (states.READY, events.POSTPONE): states.POSTPONED,
        (states.READY, events.YIELD): states.YIELDED,
        (states.BLOCKED, events.RESUME): states.RESUMING,
        (states.BEING_ANSWERED, events.RESUME): states.RESUMING,
        (states.POSTPONED, events.RESUME): states.RESUMING,
        (states.RESUMING, events.RESUME): states.RESUMING,
        (states.RESUMING, events.ANSWER): states.BEING_ANSWERED,
        (states.RESUMING, events.GO_ON): states.READY,
        (states.YIELDED, events.GO_ON): states.READY,
    }
    for state in states:
        table[state, events.FINISH] = states.CLOSING
        table[state, events.CLOSE] = states.CLOSED
    for event in events:  # both are final
        table.setdefault((states.CLOSING, event), states.CLOSING)
        table[states.CLOSED, event] = states.CLOSED
    return table


# The state that follows; what is not here cannot happen.
TRANSITIONS = _transitions()
_EVENTS: cython.int = len(ClientEvent)
_BLOCKED: cython.int = ClientState.BLOCKED
_CLOSING: cython.int = ClientState.CLOSING
_CLOSED: cython.int = ClientState.CLOSED

if not cython.compiled:
    _NEXT = [0] * (len(ClientState) * len(ClientEvent))  # compiled, an array of C


def _fill_next() -> None:
    """The state that follows, or -1, by state and event."""
    for state in ClientState:
        for event in ClientEvent:
            _NEXT[state * len(ClientEvent) + event] = TRANSITIONS.get((state, event), -1)


_fill_next()


@cython.cclass
class Client:
    """One connection's state: what most requests need; `feature` has the rest."""

    __slots__ = (
        "_features", "address", "authenticated", "batched_requests", "batches", "commands",
        "connection", "counted_as", "counted_bytes", "created_ms", "db", "deny_blocking", "gates",
        "has_asked", "id", "instance", "is_asking", "last_command", "last_interaction_ms",
        "long_reply", "name", "named_bytes", "net_input_bytes", "net_output_bytes", "no_evict",
        "no_touch", "output", "postponed", "propagates", "query_buffer_bytes", "queued_bytes",
        "reads", "reads_replica", "replays", "replicated_offset", "reply_mode", "resp", "state",
        "subscriptions", "user", "write_offset",
    )  # fmt: skip

    def __init__(self, instance: Instance, client_id: int, db: Database) -> None:
        self.instance = instance
        self.id = client_id
        self.db = db
        self.resp = 2
        self.output: list[bytes] = []
        self.gates = 0
        # connection
        self.address = b""  # "127.0.0.1:1234", "" for a client without a connection
        self.connection: Connection = DETACHED
        self.created_ms = self.last_interaction_ms = instance.monotonic_ms
        self.query_buffer_bytes = 0  # received, and not run
        # what CLIENT LIST counts
        self.reads = self.net_input_bytes = self.net_output_bytes = 0
        self.commands = 0  # that ran, those of transactions and scripts included
        self.batches = self.batched_requests = 0  # requests that were parsed together
        # What commands/connection/client_memory.py counts this client as, and how much.
        self.counted_as = self.counted_bytes = 0
        self.state = 0  # a ClientState; see `enter`
        # identity
        self.user = b"default"
        self.authenticated = True
        self.name = b""
        self.last_command = b""  # its full name, e.g. b"xgroup|create"
        # modes
        self.reply_mode = b"ON"  # ON, OFF, SKIP, SKIP_NEXT
        self.no_evict = False
        self.no_touch = False
        self.deny_blocking = False  # inside EXEC: BLOCK does not block
        self.replays = False  # its requests come from a primary or a file and were accepted before
        self.is_asking = False  # ASKING: cluster mode
        self.has_asked = False  # the same, for the request that runs
        self.reads_replica = False  # READONLY: cluster mode
        self.queued_bytes = 0  # of the arguments of the queued requests
        self._features: dict[type[Feature], Feature] = {}
        # messages
        self.subscriptions = 0  # how many, of all kinds; commands/pubsub/registry.py has them
        self.named_bytes = 0  # memory of its subscriptions and of the prefixes that it tracks
        # blocking
        self.postponed: Argv | None = None  # a request that CLIENT PAUSE or the like holds back
        self.long_reply: LongReply | None = None  # is being sent in pieces
        # propagation: whether the handler of the command that runs has said what repeats it
        self.propagates = False
        self.write_offset = 0  # Propagation.units after its last write
        self.replicated_offset = 0  # ReplicationState.offset then

    # -- state ---------------------------------------------------------------------------------

    def enter(self, event: cython.int) -> None:
        """Move to the state that follows from a ClientEvent."""
        following: cython.int = _NEXT[self.state * _EVENTS + event]
        assert following >= 0, f"{ClientEvent(event)!r} in {ClientState(self.state)!r}"
        self.state = following

    @property
    def is_blocked(self) -> bool:
        """True if a command waits; commands/core/blocked_clients.py has the details."""
        return bool(self.state == _BLOCKED)

    @property
    def close_after_reply(self) -> bool:
        """True if the connection closes once the output has left."""
        return bool(self.state == _CLOSING)

    @property
    def closed(self) -> bool:
        """True if there is no connection any more."""
        return bool(self.state == _CLOSED)

    # -- features ------------------------------------------------------------------------------

    def feature(self, kind: type[State]) -> State:
        """The client's state of a feature, which is made at first use."""
        state = self._features.get(kind)
        if state is None:
            state = self._features[kind] = kind()
        assert isinstance(state, kind)
        return state

    def feature_if_used(self, kind: type[State]) -> State | None:
        """The client's state of a feature, if it was used already."""
        state = self._features.get(kind)
        assert state is None or isinstance(state, kind)
        return state

    def end_feature(self, kind: type[Feature]) -> None:
        """Forget the client's state of a feature."""
        self._features.pop(kind, None)

    # -- reading -------------------------------------------------------------------------------

    def lookup(self, key: bytes) -> Value | None:
        """The value for a command that reads: counts a hit or miss, touches the access time."""
        value = self._present(key)
        stats = self.instance.stats
        if value is None:
            stats.keyspace_misses += 1
            if self.instance.is_observed:
                self.instance.notify_miss(self.db, key)
        else:
            stats.keyspace_hits += 1
            if self.instance.reads_touch and not self.no_touch:
                self._touch(value)
        return value

    def lookup_for_write(self, key: bytes) -> Value | None:
        """The value for a command that changes it, None if there is none or it has expired."""
        value = self._present(key)
        if value is not None:
            if not value.has_changed:  # saves a call
                self.db.memory.note(value)
            if not self.no_touch:
                self._touch(value)
        return value

    @cython.cfunc
    def _touch(self, value: Value) -> None:
        instance = self.instance
        if instance.counts_accesses:
            instance.touch(value)
        else:
            value.access_ms = instance.now_ms

    @cython.cfunc
    def _present(self, key: bytes) -> Value | None:
        """The value, None if there is none or it has expired."""
        db = self.db
        value: Value | None = db.values.get(key)
        if value is None:
            return None
        if value.deadline and not self.replays and db.has_passed(value, self.instance.now_ms):
            self.instance.expire(db, key)
            return None
        return value

    def lookup_stream(self, key: bytes) -> Stream | None:
        """`lookup` for stream commands. Raises WRONGTYPE."""
        value = self.lookup(key)
        if value is not None:
            if type(value) is not Stream:
                raise ReplyError(errors.WRONG_TYPE)
            self.db.memory.note(value)  # reading may unpack nodes
        return value

    def lookup_stream_for_write(self, key: bytes) -> Stream | None:
        """`lookup_for_write` for stream commands. Raises WRONGTYPE."""
        value = self.lookup_for_write(key)
        if value is not None and type(value) is not Stream:
            raise ReplyError(errors.WRONG_TYPE)
        return value

    def lookup_string(self, key: bytes) -> StringValue | None:
        """`lookup` for string commands. Raises WRONGTYPE."""
        value = self.lookup(key)
        if value is not None and type(value) is not StringValue:
            raise ReplyError(errors.WRONG_TYPE)
        return value

    def lookup_string_for_write(self, key: bytes) -> StringValue | None:
        """`lookup_for_write` for string commands. Raises WRONGTYPE."""
        value = self.lookup_for_write(key)
        if value is not None and type(value) is not StringValue:
            raise ReplyError(errors.WRONG_TYPE)
        return value

    def lookup_typed(self, key: bytes, kind: type[AnyValue]) -> AnyValue | None:
        """`lookup` for commands of one type. Raises WRONGTYPE."""
        value = self.lookup(key)
        if value is None or type(value) is kind:
            return value
        raise ReplyError(errors.WRONG_TYPE)

    def lookup_typed_for_write(self, key: bytes, kind: type[AnyValue]) -> AnyValue | None:
        """`lookup_for_write` for commands of one type. Raises WRONGTYPE."""
        value = self.lookup_for_write(key)
        if value is None or type(value) is kind:
            return value
        raise ReplyError(errors.WRONG_TYPE)

    # -- changing ------------------------------------------------------------------------------

    def store(self, key: bytes, value: Value) -> None:
        """Set the value of `key`, new or replaced, and wake the clients that wait for it.

        A time to live stays; callers that want to drop it call `db.persist`. Notifies `new` for a
        new key, `overwritten` and `type_changed` for a replaced one. The command's own event,
        `modified` and propagation are left to the caller.
        """
        self.instance.store(self.db, key, value)

    def expire_at(self, db: Database, key: bytes, when_ms: cython.long) -> None:
        """Let an existing key expire at a Unix time in ms.

        A writable replica remembers the keys that its own clients have given a time to live: it
        expires them itself, since its primary sends no DEL for them.
        """
        db.expire_at(key, when_ms)
        state = self.instance.replication
        if state.is_replica and not self.replays:
            state.local_deadlines[db.index, key] = None

    def remove(self, key: bytes) -> None:
        """Delete `key` and wake the clients that wait for its absence."""
        self.instance.remove(self.db, key)

    def modified(self, key: bytes, changes: cython.long = 1) -> None:
        """`key` was changed: transactions that watch it fail, caches are invalidated.

        `changes` counts towards the `save` points. A command that changed something and did not
        call `propagate` is propagated as it was sent.
        """
        instance = self.instance
        instance.dirty += changes
        if instance.key_observers:
            instance.key_modified(self.db, key, self)

    def changed(self, changes: cython.long = 1) -> None:
        """State changed that neither WATCH nor client-side caching covers: that of a group.

        As in Redis, XACK, XCLAIM, XREADGROUP and most of XGROUP do not fail a WATCH.
        """
        self.instance.dirty += changes

    def notify(self, event_class: cython.long, event: bytes, key: bytes) -> None:
        """Publish a keyspace event, if its class is enabled (commands/core/notifications.py)."""
        instance = self.instance
        if instance.is_observed and instance.config.notify_keyspace_events & event_class:
            self.instance.notify(event_class, event, key, self.db.index)

    def notify_fields(self, event: bytes, key: bytes, fields: Sequence[bytes]) -> None:
        """`notify` for a hash command; `fields` are the fields that the event is about."""
        if self.instance.is_observed:
            self.instance.notify_fields(event, key, fields, self.db.index)

    def signal_key_as_ready(self, key: bytes) -> None:
        """`key` may serve blocked clients: it is processed before the loop polls again."""
        ready_keys = self.instance.ready_keys
        if ready_keys.awaited:
            ready_keys.signal(self.db.index, key)

    def propagate(self, *argv: bytes) -> None:
        """Add a request to what goes to the append-only file and the replicas, in deterministic
        form, instead of the request as it was sent. Called several times: MULTI ... EXEC."""
        propagation = self.instance.propagation
        if propagation.sinks:
            self.propagates = True
            propagation.add(self.db.index, argv)

    def begin_propagated(self) -> RequestWriter:
        """`propagate` for a request that the caller writes; to be called if there are sinks."""
        self.propagates = True
        return self.instance.propagation.begin(self.db.index)

    def propagate_nothing(self) -> None:
        """Keep the request as it was sent from being propagated."""
        self.propagates = bool(self.instance.propagation.sinks)

    def note_write(self) -> None:
        """Make WAIT and WAITAOF of this client wait for all that is propagated up to now."""
        propagation = self.instance.propagation
        self.write_offset = propagation.units
        self.replicated_offset = propagation.offset

    # -- output --------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Bytes that answer no request of this client's own: messages, pushes, served waits."""
        if self.closed:
            return
        if self.long_reply is not None:
            self.long_reply.queued_messages.append(data)
            return
        self.output.append(data)
        self.connection.send_soon()


# -- writes ------------------------------------------------------------------------------------
# What every write does besides changing a value. The hottest handlers use these functions, which
# are inline where they are compiled (commands/core/writes.pxd): a call takes 2 ns, and a SET would
# make eight of them in 190 ns.


def opened(client: Client, key: bytes) -> Value | None:
    """`lookup_for_write`: expires the key, notes the value's memory and that it was accessed."""
    return client.lookup_for_write(key)


def written(client: Client, key: bytes, event_class: int, event: bytes) -> None:
    """A value has changed: count it, fail WATCHes, publish the event and wake waiting clients."""
    client.modified(key)
    client.notify(event_class, event, key)
    client.signal_key_as_ready(key)


class Clients:
    """All clients, in the order in which they came."""

    def __init__(self, instance: Instance) -> None:
        self.by_id: dict[int, Client] = {}
        self.on_new: list[Callable[[Client], None]] = []
        self.on_close: list[Callable[[Client], None]] = []  # what features forget of it
        self._instance = instance
        self._next_id = 1

    def new(self) -> Client:
        """A client with the next ID, on database 0."""
        client = Client(self._instance, self._next_id, self._instance.databases[0])
        self._next_id += 1
        self.by_id[client.id] = client
        for note in self.on_new:
            note(client)
        return client

    def forget(self, client: Client) -> None:
        """The connection has closed: remove the client from every queue, subscription and table."""
        client.enter(ClientEvent.CLOSE)
        client.output.clear()
        if client.long_reply is not None:
            client.long_reply.end()
            client.long_reply = None
        self.by_id.pop(client.id, None)
        self._instance.monitors.pop(client, None)
        for forget in self.on_close:
            forget(client)
