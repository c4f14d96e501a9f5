"""A key that is set in one transaction with what it counts: the ledgers of whoever writes once.

WATCH and GET show its value; MULTI has the writes and its next value; EXEC does all of it, or
nothing if another client has changed the key since. So the key and what was written agree, whatever
happens to the client, and two clients with one key cannot both write. The next WATCH and GET leave
with the transaction, so a chunk costs one round trip.

EXEC goes on after a command that fails: its reply is for the caller to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rillway.pipeline.client.connection import Connection, Reply, ServerError, Word, pack

MULTI, EXEC = pack("MULTI"), pack("EXEC")


class WatchedKey:
    """The key, as this client has left it: `value`. It is watched from the beginning."""

    def __init__(
        self,
        connection: Connection,
        key: str,
        *,
        expiry: Sequence[Word] = (),
        others: Sequence[str] = (),
        looks: Iterable[Sequence[Word]] = (),
    ) -> None:
        """`expiry`: words of SET; `others`: keys that are watched as well; `looks`: requests whose
        replies come with each look, errors among them."""
        self.key = key
        self._connection = connection
        self._expiry = tuple(expiry)
        requests = [("WATCH", key, *others), ("GET", key), *looks]
        self._watch = b"".join(pack(*words) for words in requests)
        self._looks = len(requests) - 2
        connection.send(self._watch)
        self.value, self.seen = self.look()

    def look(self) -> tuple[bytes | None, list[Reply]]:
        """What the key holds now, and the replies to `looks`: once after each transaction."""
        self._connection.receive()
        value: bytes | None = self._connection.receive()
        return value, self._connection.receive_all(self._looks)

    def transact(
        self, writes: Iterable[bytes | memoryview], count: int, value: bytes
    ) -> list[Reply] | None:
        """Do some requests and set the key, and watch it again. Returns the requests' replies.

        None: another client has changed what is watched. Raises ServerError with the cause if the
        server refused the transaction. In both cases nothing was done.
        """
        self._connection.send(MULTI)
        for data in writes:
            self._connection.send(data)
        self._connection.send(pack(*self._set(value)) + EXEC + self._watch)
        *queued, result = self._connection.receive_all(count + 3)
        if isinstance(result, ServerError):
            raise next((reply for reply in queued if isinstance(reply, ServerError)), result)
        if result is None:
            return None
        self.value = value
        replies: list[Reply] = result[:count]
        return replies

    def set_back(self, value: bytes | None) -> None:
        """To an earlier value, after a look: what was to be written was not."""
        self._connection.call(*(("DEL", self.key) if value is None else self._set(value)))

    def _set(self, value: bytes) -> tuple[Word, ...]:
        return ("SET", self.key, value, *self._expiry)
