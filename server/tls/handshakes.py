"""Accepted connections until they are encrypted: then they become clients like all others.

The context is chosen when a connection comes, so that new certificates need no new listener. A peer
that fails is not a client, and costs a line in the log; many cost no more than one a minute.
asyncio's own servers do not report that, so sockets are accepted here.

A handshake takes half a millisecond of the processor. When many peers connect at once, theirs take
turns: for a millisecond at a time, then the loop polls and others are served.

Source: the text of the log is that of Redis 7.2 and later.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import cast

from server import clock
from server.tls.contexts import reason_of
from server.tls.transport import EncryptedTransport

# A peer that says nothing holds a socket for no longer.
HANDSHAKE_SECONDS = 10.0
# How long handshakes go on at a time.
SLICE_US = 1000
# The loop polls after this many are accepted.
_ACCEPTED_AT_ONCE = 10
# What to wait for if the process has too many files open.
_PAUSE_SECONDS = 0.1

Address = tuple[str, int]


class Handshakes:
    """The handshakes under way."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: Callable[[], ssl.SSLContext],
        make_client: Callable[[], asyncio.Protocol],
        admits: Callable[[int], bool],
        log: Callable[[str, str, str], None],
        monotonic_us: Callable[[], int] = clock.monotonic_us,
        peer_name: str = "a client",
    ) -> None:
        """`admits`: whether one more is allowed beside this number of handshakes.

        `log`: as Host.log_bounded.
        `peer_name`: what the log calls those that connect.
        """
        self._admits = admits
        self._loop = loop
        self._context = context
        self._peer_name = peer_name
        self._make_client = make_client
        self._log = log
        self._monotonic_us = monotonic_us
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: deque[Callable[[], None]] = deque()  # in the order in which bytes arrived

    def listen(self, sock: socket.socket) -> Listener:
        """Accept connections on a socket that listens."""
        return Listener(self._loop, sock, self.begin)

    def stop(self) -> None:
        """End those that are under way."""
        for task in list(self._tasks):
            task.cancel()

    def begin(self, sock: socket.socket, peer: Address) -> None:
        """Encrypt an accepted connection, if one more is allowed."""
        if not self._admits(len(self._tasks)):
            sock.close()
            return
        task = self._loop.create_task(self._encrypt(sock, peer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _encrypt(self, sock: socket.socket, peer: Address) -> None:
        """Run the handshake, after which the client begins."""
        own = sock.getsockname()
        done = self._loop.create_future()
        encrypted = EncryptedTransport(self._context(), self._make_client, done, self.enqueue)
        protocol = cast("asyncio.Protocol", encrypted)
        transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, sock)
        try:
            await asyncio.wait_for(done, HANDSHAKE_SECONDS)
        except asyncio.CancelledError:
            transport.abort()
            raise
        except OSError as error:
            transport.close()
            ends = f"addr={peer[0]}:{peer[1]} laddr={own[0]}:{own[1]}"
            kind = f"Error accepting {self._peer_name} connection"
            self._log("warning", kind, f"{kind}: {reason_of(error)} ({ends})")

    def enqueue(self, go_on: Callable[[], None]) -> None:
        """Have a handshake go on after those for which bytes came before."""
        if not self._ready:
            self._loop.call_soon(self._run_some)
        self._ready.append(go_on)

    def _run_some(self) -> None:
        start_us = self._monotonic_us()
        while self._ready and self._monotonic_us() - start_us < SLICE_US:
            self._ready.popleft()()
        if self._ready:
            self._loop.call_soon(self._run_some)


class Listener:
    """Accepts connections on a socket that listens."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        begin: Callable[[socket.socket, Address], None],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._begin = begin
        self._pause: asyncio.TimerHandle | None = None
        sock.setblocking(False)
        loop.add_reader(sock, self._accept)

    def close(self) -> None:
        """Accept no more."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._sock)
        self._sock.close()

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, peer = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # too many open files
                self._loop.remove_reader(self._sock)
                self._pause = self._loop.call_later(_PAUSE_SECONDS, self._go_on)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._begin(sock, (peer[0], peer[1]))

    def _go_on(self) -> None:
        self._loop.add_reader(self._sock, self._accept)
