"""A lease: only its holder may archive a stream into a table.

It is a key that expires, with a token that only its holder knows. A thread renews it. A holder that
was away for too long (a stopped process, a lost connection) finds out before it commits; and if two
believe that they hold it, the table's log lets only one of them commit.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid

from rillway.pipeline.client.connection import Connection, ConnectionLost, ServerError

LIFETIME_MS = 30_000


class LeaseTaken(Exception):
    """Somebody else holds it; the text says who."""


class LeaseLost(Exception):
    """It was held, and is not any more."""


class Lease:
    """Use as a context manager. Raises LeaseTaken on entering."""

    def __init__(self, url: str, key: str, what: str, lifetime_ms: int = LIFETIME_MS) -> None:
        self._url, self._key, self._what, self._lifetime_ms = url, key, what, lifetime_ms
        self.token = f"{socket.gethostname()} process {os.getpid()} {uuid.uuid4()}"
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self) -> Lease:
        self._connection = Connection(self._url)
        # Reckoned from before the request: the server may have set it at any time after that.
        asked = time.monotonic()
        taken = self._connection.call("SET", self._key, self.token, "NX", "PX", self._lifetime_ms)
        if taken is None:
            holder = self._connection.call("GET", self._key)
            self._connection.close()
            raise LeaseTaken(f"{self._what}: {_who(holder)} is at it already")
        self._valid_until = asked + self._lifetime_ms / 1000
        self._renewer = threading.Thread(target=self._renew_often, name="lease", daemon=True)
        self._renewer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._renewer.join()
        try:
            self._if_held("DEL", self._key)
        except (ServerError, ConnectionLost):
            pass  # it expires by itself
        finally:
            self._connection.close()

    def check(self) -> None:
        """Raises LeaseLost if another archiver may hold it by now; else it is renewed."""
        try:
            self._renew()
        except (ServerError, ConnectionLost) as error:
            raise LeaseLost(f"{self._what}: the lease could not be renewed: {error}") from None
        if time.monotonic() > self._valid_until:
            raise LeaseLost(f"{self._what}: the lease was lost, another archiver may have it")

    def _renew_often(self) -> None:
        while not self._ended.wait(self._lifetime_ms / 3000):
            try:
                self._renew()
            except (ServerError, ConnectionLost):
                return  # check() finds that it was not renewed

    def _renew(self) -> None:
        asked = time.monotonic()
        if self._if_held("PEXPIRE", self._key, self._lifetime_ms):
            self._valid_until = asked + self._lifetime_ms / 1000
        else:
            self._valid_until = 0.0

    def _if_held(self, *request: str | int) -> bool:
        """Do something to the key if the token in it is ours."""
        with self._lock:
            _, held = self._connection.call_all([("WATCH", self._key), ("GET", self._key)])
            if isinstance(held, ServerError):
                raise held
            if held != self.token.encode():
                self._connection.call("UNWATCH")
                return False
            *_, reply = self._connection.call_all([("MULTI",), request, ("EXEC",)])
            return isinstance(reply, list)


def _who(holder: bytes | None) -> str:
    """The token without its random part."""
    if holder is None:
        return "another archiver"
    return holder.decode(errors="replace").rpartition(" ")[0]
