"""Client-side caching: the invalidation table (CLIENT TRACKING).

Two modes. By default the table remembers the keys that a tracking client reads. The first change of
such a key sends one invalidation to every client that read it, and the key is removed from the
table until it is read again. With BCAST nothing is remembered: a client names prefixes and gets
every changed key that has one of them, in one message per prefix and cycle. A user who may not use
a key does not learn its name in this way.

Guarantees: as long as a client gets no invalidation, its cached value is current. The table holds
at most `tracking-table-max-keys` keys; a key is invalidated before it is evicted. As in Redis,
databases are not distinguished: a change of a key also invalidates keys of the same name in other
databases.

The ID of a closed client stays in the table until its keys change, because a search for it would
cost more than it frees.

Leaves out: the commands (commands/connection/client_tracking.py), and which requests read which
keys (commands/connection/invalidation_table.py).
Source: Redis 7.2, "Client-side caching" in its documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from commands.core.client import Client, Clients
from commands.core.gates import GATE_RESTRICTED, GATE_TRACKING
from commands.core.instance import Instance
from commands.core.registry import PUBSUB, READONLY, Command
from commands.pubsub.registry import NAME_BYTES, SUBSCRIPTION_BYTES, is_subscribed
from commands.transactions.transaction import Transaction
from protocol import replies
from protocol.records import record
from protocol.request import Request
from storage.keyspace.database import Database

# The channel on which a RESP2 client gets the invalidations that are redirected to it.
INVALIDATION_CHANNEL = b"__redis__:invalidate"
# As measured: a key of the table, beside its bytes, with a reader; each further reader.
_KEY_BYTES = 330
_READER_BYTES = 32


@record
class TrackingState:
    """One client's tracking mode: what CLIENT TRACKING ON was given."""

    bcast: bool = False
    optin: bool = False  # remember only what follows CLIENT CACHING YES
    optout: bool = False  # remember all but what follows CLIENT CACHING NO
    noloop: bool = False  # no messages for the client's own changes
    redirect: Client | None = None  # gets the messages; None: the client itself
    prefixes: list[bytes] = field(default_factory=list)  # with BCAST; none covers another
    caching: bool = False  # CLIENT CACHING was said for the request that comes now
    broken: bool = False  # the client that messages are redirected to has left

    @property
    def redirect_id(self) -> int:
        """The ID of the client that gets the messages; 0: the client itself."""
        return 0 if self.redirect is None else self.redirect.id

    @property
    def prefix_bytes(self) -> int:
        """The memory of the prefixes."""
        return sum(SUBSCRIPTION_BYTES + len(prefix) for prefix in self.prefixes)

    @property
    def remembers_now(self) -> bool:
        """True if the keys that the client reads now go into the table."""
        if self.bcast:
            return False
        if self.optin:
            return self.caching
        return not (self.optout and self.caching)


class TrackingTable:
    """Keys that tracking clients have read, and prefixes that they listen to."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.states: dict[Client, TrackingState] = {}  # of those that track
        self.clients: dict[int, Client] = {}  # those that track, by ID
        self.readers: dict[bytes, dict[int, None]] = {}  # key -> IDs; the oldest key comes first
        self.total_items = 0  # IDs in it, over all keys
        self._keys_bytes = 0  # the length of all keys
        self.listeners: dict[bytes, dict[Client, None]] = {}  # prefix -> clients with BCAST
        # Keys changed in this cycle, by prefix, with the client that changed each: None if several
        # did.
        self.changes: dict[bytes, dict[bytes, Client | None]] = {}
        # Whether a client of a restricted user may learn that a key has changed: access control
        # sets it.
        self.may_see: Callable[[Client, bytes], bool] = _sees_all
        instance.feature(Clients).on_close.append(self.forget)

    # -- tracking clients ----------------------------------------------------------------------

    def start(self, client: Client, state: TrackingState) -> None:
        """Turn tracking on for a client.

        If it is on already, `state` includes the earlier prefixes.
        """
        old = self.states.get(client)
        if old is not None:
            client.named_bytes -= old.prefix_bytes
        self.states[client] = state
        client.named_bytes += state.prefix_bytes
        client.gates |= GATE_TRACKING
        self.clients[client.id] = client
        for prefix in state.prefixes:
            self.listeners.setdefault(prefix, {})[client] = None
        self._instance.observe_keys(self._key_changed, is_on=True)

    def forget(self, client: Client) -> None:
        """Turn tracking off for a client: CLIENT TRACKING OFF, RESET, or a closed connection."""
        state = self.states.pop(client, None)
        if state is None:
            return
        self._leave_prefixes(client, state)
        client.named_bytes -= state.prefix_bytes
        client.gates &= ~GATE_TRACKING
        del self.clients[client.id]
        if not self.clients:
            self._instance.observe_keys(self._key_changed, is_on=False)
            self._forget_keys()

    def _leave_prefixes(self, client: Client, state: TrackingState) -> None:
        for prefix in state.prefixes:
            listeners = self.listeners[prefix]
            del listeners[client]
            if not listeners:
                del self.listeners[prefix]
                self.changes.pop(prefix, None)

    def _forget_keys(self) -> None:
        self.readers.clear()
        self.total_items = self._keys_bytes = 0

    # -- keys that were read -------------------------------------------------------------------

    def remember_keys(self, client: Client, keys: Iterable[bytes]) -> None:
        """`client` read these keys."""
        state = self.states.get(client)
        if state is None or not state.remembers_now:
            return
        for key in keys:
            readers = self.readers.get(key)
            if readers is None:
                readers = self.readers[key] = {}
                self._keys_bytes += len(key)
            if client.id not in readers:
                readers[client.id] = None
                self.total_items += 1
        self.limit()

    def memory_bytes(self) -> int:
        """The memory of the table, beside that of the clients' prefixes."""
        further = self.total_items - len(self.readers)
        keys_bytes = self._keys_bytes + len(self.readers) * _KEY_BYTES + further * _READER_BYTES
        return keys_bytes + len(self.listeners) * NAME_BYTES

    def limit(self) -> None:
        """Evict keys, the oldest first, while there are more than `tracking-table-max-keys`."""
        limit = self._instance.config.tracking_table_max_keys
        while limit and len(self.readers) > limit:
            self._invalidate_readers(next(iter(self.readers)), None)

    # -- keys that were changed ----------------------------------------------------------------

    def _key_changed(self, db: Database, key: bytes, by: Client | None) -> None:
        self.invalidate(key, by)

    def invalidate(self, key: bytes, by: Client | None) -> None:
        """`key` changed; `by` is the client that changed it, None for the server itself."""
        for prefix in self.listeners:
            if key.startswith(prefix):
                if not self.changes:
                    self._instance.at_cycle_end.append(self.broadcast)
                changed = self.changes.setdefault(prefix, {})
                changed[key] = by if changed.get(key, by) is by else None
        self._invalidate_readers(key, by)

    def _invalidate_readers(self, key: bytes, by: Client | None) -> None:
        readers = self.readers.pop(key, None)
        if readers is None:
            return
        self.total_items -= len(readers)
        self._keys_bytes -= len(key)
        keys = replies.bulk_array([key])
        for client_id in readers:
            client = self.clients.get(client_id)
            if client is None:
                continue
            state = self.states[client]
            if state.bcast or (state.noloop and client is by):
                continue
            self._send(client, state, keys)

    def invalidate_all(self) -> None:
        """Every key may have changed (FLUSHALL, FLUSHDB): send a message with null for the keys."""
        self._forget_keys()
        for client, state in self.states.items():
            self._send(client, state, None)

    def broadcast(self) -> None:
        """Send the collected messages of BCAST clients: at the end of a cycle, before output
        leaves.
        """
        changes, self.changes = self.changes, {}
        for prefix, changed in changes.items():
            keys = sorted(changed)
            for_all = replies.bulk_array(keys)
            for client in self.listeners[prefix]:
                state = self.states[client]
                if not state.noloop and not client.gates & GATE_RESTRICTED:
                    self._send(client, state, for_all)
                    continue
                seen = [key for key in keys if not state.noloop or changed[key] is not client]
                if client.gates & GATE_RESTRICTED:
                    seen = [key for key in seen if self.may_see(client, key)]
                if seen:
                    self._send(client, state, replies.bulk_array(seen))

    def _send(self, client: Client, state: TrackingState, keys: bytes | None) -> None:
        """Send one invalidation; `keys` is an encoded array, None for null.

        RESP2 has no pushes: a RESP2 client gets invalidations only as the target of a redirection,
        while subscribed, in the form of a published message.
        """
        target = state.redirect or client
        if target.closed:
            state.broken = True
            if client.resp == 3:
                client.send(_broken_redirection(target.id))
            return
        body = replies.NIL[target.resp] if keys is None else keys
        if target.resp == 3:
            target.send(replies.push_header(2, 3) + replies.bulk(b"invalidate") + body)
        elif state.redirect and is_subscribed(target):
            head = replies.bulk(b"message") + replies.bulk(INVALIDATION_CHANNEL)
            target.send(replies.push_header(3, 2) + head + body)


def _sees_all(client: Client, key: bytes) -> bool:
    return True


def _broken_redirection(client_id: int) -> bytes:
    words = replies.bulk(b"tracking-redir-broken") + replies.integer(client_id)
    return replies.push_header(2, 3) + words


# As in Redis 7.2 and later, not their declared keys are tracked, but what their commands read.
_SCRIPTS = frozenset({b"eval_ro", b"evalsha_ro", b"fcall_ro"})


def command_ran(client: Client, command: Command, request: Request, *, is_over: bool) -> None:
    """Called after every command of a tracking client, those inside EXEC included.

    `is_over`: it does not block. A script reads nothing itself, only its commands do.
    """
    state = client.instance.feature(TrackingTable).states.get(client)
    if state is None:
        return
    if command.flags & READONLY and command.fullname not in _SCRIPTS:
        remember_request(client, command, request)
    # CLIENT CACHING is for one request, or for one transaction as a whole.
    is_alone = client.feature_if_used(Transaction) is None
    if is_over and is_alone and not command.fullname.startswith(b"client|"):
        state.caching = False


def remember_request(client: Client, command: Command, request: Request) -> None:
    """`client` read the keys of this request."""
    if not command.flags & PUBSUB:  # whose keys are shard channels
        words = request.words()
        keys = [words[i] for i in command.key_positions(words)]
        client.instance.feature(TrackingTable).remember_keys(client, keys)
