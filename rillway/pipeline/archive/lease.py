"""Leases: only the holder of a stream's lease may archive the stream into a table.

A lease is a key that expires, in the slot of the stream; its value is a token that only the holder
knows. Renewing and releasing check the token. A thread renews all leases of a round. A holder that
lost a lease (its process was stopped, its connection lost) notices before it commits; and if two
processes believe that they hold one, the table's log lets only one of them commit.

A process that ends by an exception, or by a signal that Python handles, releases its leases. After
SIGKILL, and on a node that does not answer, they expire.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from rillway.net.routing import Address
from rillway.pipeline.wire.capabilities import Scripts
from rillway.pipeline.wire.cluster import beside, connect, following
from rillway.pipeline.wire.connection import (
    Connection,
    ConnectionLost,
    NodeAway,
    ServerError,
    Word,
    exec_reply,
)
from rillway.pipeline.wire.urls import with_timeout

T = TypeVar("T")

LIFETIME_MS = 30_000
# Two timeouts, of a request and of a new connection, must fit within the lifetime.
REPLY_SHARE, LEAST_REPLY_S = 0.2, 1.0
# For keys that change or expire while they are checked.
MAX_ATTEMPTS = 10

# Arguments: the token, and the command to run on the key if it has that token.
IF_HELD = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
return 1
"""


class LeaseTaken(Exception):
    """Another process holds the lease; the text says which."""


class LeaseLost(Exception):
    """The lease was held, but no longer is."""


def lease_key(group: str, stream: str) -> str:
    """Return the key of a stream's lease. `group`: the prefix of the archive's groups."""
    return beside(f"{group}:lease:", stream)


class Leases:
    """The leases of several streams, as a context manager.

    `keys`: the lease keys by stream; `taken`: the streams whose lease another process holds or
    whose node does not answer, known once entered; the others are held; `what`: a format for
    errors, such as `archiving {}`.
    """

    def __init__(
        self,
        url: str,
        keys: Mapping[str, str],
        what: str,
        lifetime_ms: int = LIFETIME_MS,
        left_out: Mapping[Address, NodeAway] | None = None,
    ) -> None:
        """`left_out`: nodes of a cluster that serve none of the keys."""
        # A node that hangs must not prevent renewals on the others.
        self._url = with_timeout(url, max(lifetime_ms / 1000 * REPLY_SHARE, LEAST_REPLY_S))
        self._keys, self._what, self._lifetime_ms = keys, what, lifetime_ms
        self._left_out = left_out
        self.token = f"{socket.gethostname()} process {os.getpid()} {uuid.uuid4()}"
        self.taken: dict[str, LeaseTaken | NodeAway] = {}
        self._valid_until: dict[str, float] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()

    @property
    def held(self) -> list[str]:
        return [name for name in self._keys if name not in self.taken]

    def __enter__(self) -> Leases:
        self._connection = connect(self._url, self._left_out)
        self._scripts = Scripts(self._connection)
        try:
            self._take()
        except BaseException:
            self._give_back(list(self._keys), is_underway=True)
            raise
        self._renewer = threading.Thread(target=self._renew_often, name="lease", daemon=True)
        self._renewer.start()
        return self

    def _take(self) -> None:
        # Counted from before the request: the server sets the key at some time after that.
        valid_until = time.monotonic() + self._lifetime_ms / 1000
        words = self.token, "NX", "PX", self._lifetime_ms

        def set_all(names: Sequence[str]) -> dict[str, object]:
            """Return the tokens of other holders."""
            replies = self._call_all([("SET", self._keys[name], *words) for name in names])
            refused = [name for name, reply in zip(names, replies, strict=True) if reply is None]
            holders = self._call_all([("GET", self._keys[name]) for name in refused])
            found = dict(zip(refused, holders, strict=True))
            # After a retry the holder may be this process.
            return {name: who for name, who in found.items() if who != self.token.encode()}

        for name, holder in self._reached(list(self._keys), set_all).items():
            text = f"{self._what.format(name)}: {_who(holder)} is already active"
            self.taken[name] = LeaseTaken(text)
        self.taken |= self._away(self.held)
        self._valid_until = dict.fromkeys(self.held, valid_until)

    def _away(self, names: Iterable[str]) -> dict[str, NodeAway]:
        away = self._connection.away
        return {name: error for name in names if (error := away(self._keys[name]))}

    def _reached(self, names: Sequence[str], action: Callable[[Sequence[str]], T]) -> T:
        """Run an action on keys; if a node fails, run it again without that node's keys."""
        try:
            return action([name for name in names if not self._connection.away(self._keys[name])])
        except ConnectionLost:
            self._connection.leave_out()
        return action([name for name in names if not self._connection.away(self._keys[name])])

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        self._renewer.join()
        self._give_back(self.held, is_underway=kind is not None)

    def _give_back(self, names: Sequence[str], *, is_underway: bool) -> None:
        """Release the leases that have our token; those that cannot be released expire.

        `is_underway`: other requests may be unanswered.
        """
        try:
            if is_underway:
                self._connection.leave_out()
            self._if_held(names, "DEL")
        except (ServerError, ConnectionLost):
            pass
        finally:
            self._connection.close()

    def check(self, names: Iterable[str]) -> Mapping[str, LeaseLost | NodeAway]:
        """Renew the leases of some streams; returns those that were lost, with the error."""
        names = list(names)
        try:
            self._renew(names)
        except (ServerError, ConnectionLost) as error:
            text = f"the lease could not be renewed: {error}"
            return {name: LeaseLost(f"{self._what.format(name)}: {text}") for name in names}
        text = "the lease was lost, another archiver may have it"
        now = time.monotonic()
        lost = [name for name in names if now > self._valid_until[name]]
        errors = {name: LeaseLost(f"{self._what.format(name)}: {text}") for name in lost}
        return errors | self._away(lost)

    def _renew_often(self) -> None:
        while not self._ended.wait(min(self._lifetime_ms / 3000, threading.TIMEOUT_MAX)):
            # check() finds the leases that were not renewed in time.
            with suppress(ServerError, ConnectionLost):
                self._renew(self.held)

    def _renew(self, names: Sequence[str]) -> None:
        valid_until = time.monotonic() + self._lifetime_ms / 1000
        renewed = self._if_held(names, "PEXPIRE", self._lifetime_ms)
        self._valid_until |= {name: valid_until if name in renewed else 0.0 for name in names}

    def _if_held(self, names: Sequence[str], verb: str, *words: Word) -> Collection[str]:
        """Run a command on the keys that have our token; returns their streams."""
        arguments = (self.token, verb, *words)

        def act(names: Sequence[str]) -> Collection[str]:
            keys = {name: self._keys[name] for name in names}
            done = self._scripts.run_all(IF_HELD, dict.fromkeys(keys.values(), arguments))
            if not done:
                done = {key: self._if_held_watched(key, verb, *words) for key in keys.values()}
            return {name for name, key in keys.items() if done[key]}

        with self._lock:
            return self._reached(names, act)

    def _if_held_watched(self, key: str, verb: str, *words: Word) -> bool:
        """Run a command on a key if it has our token, without scripts."""

        def attempt(node: Connection) -> bool | None:
            node.call("WATCH", key)
            if node.call("GET", key) != self.token.encode():
                node.call("UNWATCH")
                return False
            replies = exec_reply(node.call_all([("MULTI",), (verb, key, *words), ("EXEC",)]))
            return None if replies is None else True

        for _ in range(MAX_ATTEMPTS):
            done = following(self._connection, key, attempt)
            if done is not None:
                return done
        return False

    def _call_all(self, requests: Sequence[Sequence[Word]]) -> list[object]:
        """Run requests and return their replies. Raises ServerError."""
        replies = self._connection.call_all(requests)
        for reply in replies:
            if isinstance(reply, ServerError):
                raise reply
        return replies


def _who(holder: object) -> str:
    """Return the token without its random part."""
    if not isinstance(holder, bytes):
        return "another archiver"
    return holder.decode(errors="replace").rpartition(" ")[0]
