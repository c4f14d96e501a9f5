"""A key that is set in the same transaction as the writes that it records: the base of ledgers.

WATCH and GET show its value; MULTI contains the writes and its next value; EXEC does all of it, or
nothing if another client changed the key meanwhile. So the key always agrees with what was written,
whatever happens to the client, and two clients with one key cannot both write. The next WATCH and
GET are sent with the transaction, so a chunk costs one round trip.

In a cluster, the writes go to the key's slot. If the slot has moved, nothing was done: the key is
watched on the other node, must have the same value, and the transaction is repeated there.

EXEC continues after a command that fails: the caller must check the replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rillway.pipeline.wire.cluster import following, is_redirection
from rillway.pipeline.wire.connection import (
    Connection,
    Reply,
    ServerError,
    Word,
    exec_reply,
    pack,
)

MULTI, EXEC = pack("MULTI"), pack("EXEC")

T = TypeVar("T")


class WatchedKey:
    """The key. `value` is what this client set last; it is watched from the beginning."""

    def __init__(
        self,
        connection: Connection,
        key: str,
        changed: Exception,
        *,
        expiry: Sequence[Word] = (),
        others: Sequence[str] = (),
        reads: Iterable[Sequence[Word]] = (),
        seen: Callable[[list[Reply]], None] | None = None,
    ) -> None:
        """Watch the key.

        `changed` is raised when another client has changed a watched key. `expiry`: options of SET;
        `others`: more keys to watch; `reads`: requests whose replies, errors included, are passed
        to `seen` each time the key is watched, before anything is written.
        """
        self.key = key
        self.value: bytes | None = None
        self._connection, self._changed, self._seen = connection, changed, seen
        self._expiry = tuple(expiry)
        requests = [("WATCH", key, *others), ("GET", key), *reads]
        self._watch = b"".join(pack(*words) for words in requests)
        self._reads = len(requests) - 2
        self._node: Connection | None = None
        self._is_underway = False  # the replies to `_watch` are in flight
        self._is_known = False
        self.catch_up()
        self._is_known = True

    def catch_up(self) -> None:
        """Receive the replies in flight. Raises `changed`."""
        self._following(lambda node: None)

    def transact(
        self, writes: Sequence[bytes | memoryview], count: int, value: bytes
    ) -> list[Reply]:
        """Run requests and set the key in one transaction; return the requests' replies.

        Raises `changed`, and ServerError with the cause if the server refused the transaction. In
        both cases nothing was done.
        """

        def attempt(node: Connection) -> list[Reply] | None:
            node.send(MULTI)
            for data in writes:
                node.send(data)
            node.send(pack(*self._set(value)) + EXEC + self._watch)
            self._is_underway = True
            return exec_reply(node.receive_all(count + 3))

        result = self._following(attempt)
        if result is None:
            raise self._changed
        self.value = value
        return result[:count]

    def set_back(self, value: bytes | None) -> None:
        """Restore an earlier value after writes that failed."""
        words = ("DEL", self.key) if value is None else self._set(value)
        self._following(lambda node: node.call(*words))

    def close(self) -> None:
        """Close the connection if it is the key's own."""
        if self._node is not None and self._is_in_cluster:
            self._node.close()
        self._node = None

    @property
    def _is_in_cluster(self) -> bool:
        return self._connection.slot(self.key) is not None

    def _set(self, value: bytes) -> tuple[Word, ...]:
        return ("SET", self.key, value, *self._expiry)

    def _following(self, action: Callable[[Connection], T]) -> T:
        """Run an action where the key is watched, and follow the slot if it moves."""

        def attempt(_: Connection) -> T:
            try:
                return action(self._watching())
            except ServerError as error:
                if is_redirection(error):
                    self.close()
                raise

        return following(self._connection, self.key, attempt)

    def _watching(self) -> Connection:
        if self._node is None:
            node = self._connection.of(self.key)
            # A connection of its own: EXEC forgets all keys watched on a connection.
            self._node = Connection(node.url) if self._is_in_cluster else node
            self._node.send(self._watch)
            self._is_underway = True
        if self._is_underway:
            self._node.receive()
            value = self._node.receive()
            seen = self._node.receive_all(self._reads)
            self._is_underway = False
            for redirection in filter(is_redirection, seen):
                raise redirection
            if self._is_known and value != self.value:
                raise self._changed
            self.value = value
            if self._seen is not None:
                self._seen(seen)
        return self._node
