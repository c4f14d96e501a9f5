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
keys (commands/state/tracked_requests.py).
Source: Redis 7.2, "Client-side caching" in its documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Protocol

import cython

from commands.config.configuration import Configuration
from commands.core.gates import GATE_RESTRICTED, GATE_TRACKING
from commands.pubsub.registry import NAME_BYTES, Subscriber, is_subscribed
from protocol import replies
from protocol.records import record

# The channel on which a RESP2 client gets the invalidations that are redirected to it.
INVALIDATION_CHANNEL = b"__redis__:invalidate"


@record
class TrackingState:
    """One client's tracking mode: what CLIENT TRACKING ON was given."""

    bcast: bool = False
    optin: bool = False  # remember only what follows CLIENT CACHING YES
    optout: bool = False  # remember all but what follows CLIENT CACHING NO
    noloop: bool = False  # no messages for the client's own changes
    redirect: TrackingClient | None = None  # gets the messages; None: the client itself
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
        return sum(NAME_BYTES + len(prefix) for prefix in self.prefixes)

    @property
    def remembers_now(self) -> bool:
        """True if the keys that the client reads now go into the table."""
        if self.bcast:
            return False
        if self.optin:
            return self.caching
        return not (self.optout and self.caching)


class TrackingClient(Subscriber, Protocol):
    """The part of a client that the table uses (commands/core/client.py)."""

    id: int
    closed: bool
    user: bytes
    tracking: TrackingState | None


@cython.cclass
class TrackingTable:
    """Keys that tracking clients have read, and prefixes that they listen to."""

    def __init__(self, config: Configuration) -> None:
        self._config = config
        self.active = False  # whether any client tracks
        self.clients: dict[int, TrackingClient] = {}  # those that track, by ID
        self.readers: dict[bytes, dict[int, None]] = {}  # key -> IDs; the oldest key comes first
        self.total_items = 0  # IDs in it, over all keys
        self.listeners: dict[bytes, dict[TrackingClient, None]] = {}  # prefix -> clients with BCAST
        # Keys changed in this cycle, by prefix, with the client that changed each: None if several
        # did.
        self.changes: dict[bytes, dict[bytes, TrackingClient | None]] = {}
        # Whether a client of a restricted user may learn that a key has changed: access control
        # sets it.
        self.may_see: Callable[[TrackingClient, bytes], bool] = _sees_all

    # -- tracking clients ----------------------------------------------------------------------

    def start(self, client: TrackingClient, state: TrackingState) -> None:
        """Turn tracking on for a client.

        If it is on already, `state` includes the earlier prefixes.
        """
        if client.tracking is not None:
            client.named_bytes -= client.tracking.prefix_bytes
        client.tracking = state
        client.named_bytes += state.prefix_bytes
        client.gates |= GATE_TRACKING
        self.clients[client.id] = client
        for prefix in state.prefixes:
            self.listeners.setdefault(prefix, {})[client] = None
        self.active = True

    def forget(self, client: TrackingClient) -> None:
        """Turn tracking off for a client: CLIENT TRACKING OFF, RESET, or a closed connection."""
        if client.tracking is None:
            return
        self._leave_prefixes(client, client.tracking)
        client.named_bytes -= client.tracking.prefix_bytes
        client.tracking = None
        client.gates &= ~GATE_TRACKING
        del self.clients[client.id]
        if not self.clients:
            self.active = False
            self._forget_keys()

    def _leave_prefixes(self, client: TrackingClient, state: TrackingState) -> None:
        for prefix in state.prefixes:
            listeners = self.listeners[prefix]
            del listeners[client]
            if not listeners:
                del self.listeners[prefix]
                self.changes.pop(prefix, None)

    def _forget_keys(self) -> None:
        self.readers.clear()
        self.total_items = 0

    # -- keys that were read -------------------------------------------------------------------

    def remember_keys(self, client: TrackingClient, keys: Iterable[bytes]) -> None:
        """`client` read these keys."""
        if client.tracking is None or not client.tracking.remembers_now:
            return
        for key in keys:
            readers = self.readers.setdefault(key, {})
            if client.id not in readers:
                readers[client.id] = None
                self.total_items += 1
        self.limit()

    def limit(self) -> None:
        """Evict keys, the oldest first, while there are more than `tracking-table-max-keys`."""
        limit = self._config.tracking_table_max_keys
        while limit and len(self.readers) > limit:
            self._invalidate_readers(next(iter(self.readers)), None)

    # -- keys that were changed ----------------------------------------------------------------

    def invalidate(self, key: bytes, by: TrackingClient | None) -> None:
        """`key` changed; `by` is the client that changed it, None for the server itself."""
        for prefix in self.listeners:
            if key.startswith(prefix):
                changed = self.changes.setdefault(prefix, {})
                changed[key] = by if changed.get(key, by) is by else None
        self._invalidate_readers(key, by)

    def _invalidate_readers(self, key: bytes, by: TrackingClient | None) -> None:
        readers = self.readers.pop(key, None)
        if readers is None:
            return
        self.total_items -= len(readers)
        keys = replies.bulk_array([key])
        for client_id in readers:
            client = self.clients.get(client_id)
            state = client.tracking if client is not None else None
            if client is None or state is None or state.bcast or (state.noloop and client is by):
                continue
            self._send(client, state, keys)

    def invalidate_all(self) -> None:
        """Every key may have changed (FLUSHALL, FLUSHDB): send a message with null for the keys."""
        self._forget_keys()
        for client in self.clients.values():
            assert client.tracking is not None
            self._send(client, client.tracking, None)

    def broadcast(self) -> None:
        """Send the collected messages of BCAST clients: at the end of a cycle, before output
        leaves.
        """
        changes, self.changes = self.changes, {}
        for prefix, changed in changes.items():
            keys = sorted(changed)
            for_all = replies.bulk_array(keys)
            for client in self.listeners[prefix]:
                state = client.tracking
                assert state is not None
                if not state.noloop and not client.gates & GATE_RESTRICTED:
                    self._send(client, state, for_all)
                    continue
                seen = [key for key in keys if not state.noloop or changed[key] is not client]
                if client.gates & GATE_RESTRICTED:
                    seen = [key for key in seen if self.may_see(client, key)]
                if seen:
                    self._send(client, state, replies.bulk_array(seen))

    def _send(self, client: TrackingClient, state: TrackingState, keys: bytes | None) -> None:
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


def _sees_all(client: TrackingClient, key: bytes) -> bool:
    return True


def _broken_redirection(client_id: int) -> bytes:
    words = replies.bulk(b"tracking-redir-broken") + replies.integer(client_id)
    return replies.push_header(2, 3) + words
