"""What a primary does while a replica of it is stopped: requests that wait, and how they end.

Each request has a connection of its own, since any may be held back (CLIENT PAUSE, FAILOVER) or
wait for replicas (SHUTDOWN). After each, all that has been answered is looked at.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any, Self

from tests.compat.restarts.nodes import Node, wait_until

LOOK_SECONDS = 0.05
# What undoes all that may keep a request waiting.
CLEARING = (("CLIENT", "UNPAUSE"), ("FAILOVER", "ABORT"), ("SHUTDOWN", "ABORT"))


class Requests:
    """The requests that a node was sent, and the replies so far."""

    def __init__(self, node: Node, stopped: Node) -> None:
        self._node = node
        self._stopped = stopped
        self._open: list[tuple[str, socket.socket]] = []
        self._replies: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _words, connection in self._open:
            connection.close()

    def send(self, *words: str) -> None:
        """Send a request, and do not wait for its reply. STOPPED is the stopped replica's port."""
        connection = socket.create_connection(("127.0.0.1", self._node.port))
        line = " ".join(words).replace("STOPPED", str(self._stopped.port))
        connection.sendall(line.encode() + b"\r\n")
        self._open.append((" ".join(words), connection))
        self._replies.append(b"")

    def replies(self) -> list[str]:
        """Each request with what it was answered up to now."""
        for number, (_, connection) in enumerate(self._open):
            while select.select([connection], [], [], 0)[0]:
                data = b""
                with contextlib.suppress(ConnectionError):
                    data = connection.recv(4096)
                if not data:
                    break
                self._replies[number] += data
        return [
            f"{words}: {reply.decode().strip()}"
            for (words, _), reply in zip(self._open, self._replies, strict=True)
        ]

    def look(self) -> Any:
        """The replies, and what INFO says of those that wait, once they do not change any more."""
        before: Any = None
        while (now := self._seen()) != before:
            before = now
            time.sleep(LOOK_SECONDS)
        return now

    def _seen(self) -> Any:
        replies = self.replies()
        states = self._node.info("clients") | self._node.info("replication")
        waits = "shutdown_in_milliseconds" in self._node.info("server")
        return replies, states["blocked_clients"], states["master_failover_state"], waits

    def has_failed(self) -> bool:
        """Whether the last request was refused."""
        self.replies()
        return self._replies[-1].startswith(b"-")


@contextlib.contextmanager
def stopped(node: Node, by: str) -> Iterator[None]:
    """The process does not run, or does not apply what it receives."""
    is_paused = by == "CLIENT PAUSE"
    if is_paused:
        node.ask("CLIENT", "PAUSE", 100_000, "WRITE")
    else:
        node.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        if is_paused:
            node.ask("CLIENT", "UNPAUSE")
        else:
            node.signal(signal.SIGCONT)


@contextlib.contextmanager
def unable_to_save(node: Node, *, is_unable: bool) -> Iterator[None]:
    """No snapshot can be put in place: a folder has its name."""
    file, aside = node.folder / "dump.rdb", node.folder / "aside.rdb"
    if is_unable:
        if file.exists():
            file.rename(aside)
        file.mkdir()
    try:
        yield
    finally:
        if is_unable:
            file.rmdir()
            if aside.exists():
                aside.rename(file)


def lagging(node: Node) -> int:
    """The number of replicas that have not acknowledged everything."""
    found = node.info("replication")
    replicas = [found[f"slave{number}"] for number in range(found["connected_slaves"])]
    return sum(replica["offset"] != found["master_repl_offset"] for replica in replicas)


def begin_end(node: Node, requests: Requests, how: str) -> None:
    """Ask the node to end; with NOW it does, or refuses, else it waits for its replica."""
    if how == "SIGTERM":
        node.signal(signal.SIGTERM)
        wait_until(lambda: "shutdown_in_milliseconds" in node.info("server"), how)
    elif how != "SIGCONT":
        requests.send(*how.split())
        if "NOW" in how:
            ends(node, requests, how)


def ends(node: Node, requests: Requests, how: str) -> bool:
    """Wait until the node has ended, or has refused to (then False)."""
    asked = how != "SIGTERM"
    wait_until(lambda: node.has_ended() or (asked and requests.has_failed()), f"end: {how}")
    return node.has_ended()
