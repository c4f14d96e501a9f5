"""A key that is set in one transaction with what it counts: the ledgers of whoever writes once.

WATCH and GET show its value; MULTI has the writes and its next value; EXEC does all of it, or
nothing if another client has changed the key since. So the key and what was written agree, whatever
happens to the client, and two clients with one key cannot both write. The next WATCH and GET leave
with the transaction, so a chunk costs one round trip.

In a cluster, what is written is in the key's slot. Where the slot has moved, nothing was done; the
key is watched on the other node, must be there as it was, and the transaction is done once more.

EXEC goes on after a command that fails: its reply is for the caller to look at.
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
    """The key, as this client has left it: `value`. It is watched from the beginning."""

    def __init__(
        self,
        connection: Connection,
        key: str,
        changed: Exception,
        *,
        expiry: Sequence[Word] = (),
        others: Sequence[str] = (),
        looks: Iterable[Sequence[Word]] = (),
        seen: Callable[[list[Reply]], None] | None = None,
    ) -> None:
        """`connection`: to the server, or to a cluster; `changed`: raised when another client has
        changed what is watched. `expiry`: words of SET; `others`: keys that are watched as well.
        `looks`: requests whose replies, errors among them, go to `seen` each time that it is
        watched, before anything is written."""
        self.key = key
        self.value: bytes | None = None
        self._connection, self._changed, self._seen = connection, changed, seen
        self._expiry = tuple(expiry)
        requests = [("WATCH", key, *others), ("GET", key), *looks]
        self._watch = b"".join(pack(*words) for words in requests)
        self._looks = len(requests) - 2
        self._node: Connection | None = None
        self._is_underway = False  # the replies to what shows its value
        self._is_known = False
        self.look()
        self._is_known = True

    def look(self) -> None:
        """Receive what is still on its way. Raises `changed`."""
        self._following(lambda node: None)

    def transact(
        self, writes: Sequence[bytes | memoryview], count: int, value: bytes
    ) -> list[Reply]:
        """Do some requests and set the key, and watch it again. Returns the requests' replies.

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
        """To an earlier value, after a look: what was to be written was not."""
        words = ("DEL", self.key) if value is None else self._set(value)
        self._following(lambda node: node.call(*words))

    def close(self) -> None:
        """The connection that is its own."""
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
            # EXEC forgets all that was watched on a connection, other keys of the node as well.
            self._node = Connection(node.url) if self._is_in_cluster else node
            self._node.send(self._watch)
            self._is_underway = True
        if self._is_underway:
            self._node.receive()
            value = self._node.receive()
            seen = self._node.receive_all(self._looks)
            self._is_underway = False
            for redirection in filter(is_redirection, seen):
                raise redirection
            if self._is_known and value != self.value:
                raise self._changed
            self.value = value
            if self._seen is not None:
                self._seen(seen)
        return self._node
