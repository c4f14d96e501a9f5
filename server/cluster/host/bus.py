"""The connections of the cluster bus: they carry frames, whatever these mean.

Each pair of nodes has two: each dials the other, and is answered on the connection that the other
has dialled. There is no password, so it is bound to the addresses that clients may use. With
`tls-cluster` all are encrypted, and both sides show certificates of the authority.

Connections alternate, a frame each, for a millisecond at a time; then the loop serves clients. One
that has more frames is not read meanwhile, so that a flood waits in its sender.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import cast

from server import clock
from server.cluster.events import Event, LinkLost, LinkOpened, Received
from server.cluster.messages import (
    START_BYTES,
    BadFrame,
    BadMessage,
    Message,
    frame_size,
    pack,
    unpack,
)
from server.cluster.nodes import Link
from server.loop.listeners import bind_addresses
from server.tls.credentials import Credentials
from server.tls.handshakes import Address, Handshakes, Listener

BACKLOG = 512
MAX_HANDSHAKES = 256  # at a time
SLICE_US = 1000  # how long frames are handled at a time
KEEPALIVE_SECONDS = 30  # as Redis, with the default node timeout


class Bus:
    """The bus of one node. `happened` is called with each event; `log`: as log_bounded."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        happened: Callable[[Event], None],
        monotonic_ms: Callable[[], int],
        log: Callable[[str, str, str], None],
        credentials: Credentials,
        monotonic_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        self._loop = loop
        self._monotonic_us = monotonic_us
        self._credentials = credentials
        self.happened = happened
        self.monotonic_ms = monotonic_ms
        self.log = log
        self._listeners: list[Listener] = []
        self._handshakes = Handshakes(
            loop,
            self._encryption,
            lambda: _Connection(self, None),
            lambda handshakes: handshakes < MAX_HANDSHAKES,
            log,
            peer_name="a cluster node's",
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[_Connection] = set()
        self._ready: deque[_Connection] = deque()  # those with a whole frame

    def listen(self, addresses: Sequence[str], port: int) -> None:
        """Accept other nodes. Raises OSError."""
        for _, sock in bind_addresses(list(addresses), port, BACKLOG):
            self._listeners.append(Listener(self._loop, sock, self._accept))

    def _accept(self, sock: socket.socket, peer: Address) -> None:
        """`tls-cluster` may change: it is looked up for each connection."""
        if self._credentials.for_accepted_nodes is None:
            self._keep(self._begin(sock))
        else:
            self._handshakes.begin(sock, peer)

    async def _begin(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it has disconnected already
            await self._loop.connect_accepted_socket(lambda: _Connection(self, None), sock)

    def _encryption(self) -> ssl.SSLContext:
        context = self._credentials.for_accepted_nodes
        assert context is not None
        return context

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def dial(self, link: Link, ip: str, port: int, timeout_s: float) -> None:
        """Connect to a node; LinkOpened or LinkLost follows."""
        self._keep(self._dial(link, ip, port, timeout_s))

    async def _dial(self, link: Link, ip: str, port: int, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._loop.create_connection(
                    lambda: _Connection(self, link),
                    ip,
                    port,
                    ssl=self._credentials.for_dialled_nodes,
                )
        except (OSError, ValueError):  # TimeoutError, SSLError and others; and an invalid host name
            self.happened(LinkLost(link))

    def send(self, link: Link, message: Message, limit_bytes: int) -> bool:
        """Send a message; False if more than `limit_bytes` wait already: the link is closed."""
        connection = link.transport
        if not isinstance(connection, _Connection) or connection.transport is None:
            return True  # it was closed; the core is notified next
        connection.transport.write(pack(message))
        if limit_bytes and connection.transport.get_write_buffer_size() > limit_bytes:
            connection.drop()
            return False
        return True

    def close(self, link: Link) -> None:
        """Close a link without an event."""
        if isinstance(link.transport, _Connection):
            link.transport.is_dropped = True
            link.transport.drop()

    def enqueue(self, connection: _Connection) -> None:
        """Queue a connection: a frame of it is handled after those of the others."""
        if not self._ready:
            self._loop.call_soon(self._take_some)
        self._ready.append(connection)

    def _take_some(self) -> None:
        start_us = self._monotonic_us()
        try:
            while self._ready and self._monotonic_us() - start_us < SLICE_US:
                connection = self._ready.popleft()
                if connection.take_frame():
                    self._ready.append(connection)
        finally:  # an error ends one connection, not the bus
            if self._ready:
                self._loop.call_soon(self._take_some)

    def accepted(self, connection: _Connection) -> None:
        self._connections.add(connection)

    def lost(self, connection: _Connection) -> None:
        self._connections.discard(connection)

    def stop(self) -> None:
        """Close everything."""
        for listener in self._listeners:
            listener.close()
        self._handshakes.stop()
        for task in list(self._tasks):
            task.cancel()
        for connection in list(self._connections):
            connection.is_dropped = True
            connection.drop()


class _Connection(asyncio.Protocol):
    """One connection. `link` None: another node has dialled."""

    def __init__(self, bus: Bus, link: Link | None) -> None:
        self._bus = bus
        self._link = link
        self._received = bytearray()
        self._is_queued = False  # waits in the queue of the bus
        self._is_paused = False
        self.transport: asyncio.Transport | None = None
        self.is_dropped = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop has classes of its own
        _keep_alive(transport.get_extra_info("socket"))
        self._bus.accepted(self)
        if self._link is None:
            peer, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
            self._link = Link(
                is_inbound=True,
                is_open=True,
                created_ms=self._bus.monotonic_ms(),
                peer_ip=peer[0] if peer else "",
                local_ip=local[0] if local else "",
            )
            self._link.transport = self
        else:
            self._link.transport = self
            self._bus.happened(LinkOpened(self._link))

    def data_received(self, data: bytes) -> None:
        self._received += data
        size = self._frame_bytes()
        if size and not self._is_queued:
            self._is_queued = True
            self._bus.enqueue(self)
        if size and len(self._received) > size:
            self._pause(is_paused=True)

    def take_frame(self) -> bool:
        """Handle the next frame; return whether there is another. If there is none, read on."""
        if size := self._frame_bytes():
            frame = bytes(self._received[:size])
            del self._received[:size]
            try:
                self._take(frame)
            except Exception:
                self.drop()
                raise
        self._is_queued = self._frame_bytes() > 0
        if not self._is_queued:
            self._pause(is_paused=False)
        return self._is_queued

    def _pause(self, *, is_paused: bool) -> None:
        if self._is_paused == is_paused or self.transport is None or self.transport.is_closing():
            return
        self._is_paused = is_paused
        if is_paused:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _frame_bytes(self) -> int:
        """The size of the frame that has come; 0 if none is whole, or the connection has ended."""
        received = self._received
        if len(received) < START_BYTES or self.transport is None or self.is_dropped:
            return 0
        try:
            size = frame_size(bytes(received[:START_BYTES]))
        except BadFrame as error:
            self._bus.log("warning", "Cluster bus", f"Cluster bus: {error}")
            self.drop()
            return 0
        return size if len(received) >= size else 0

    def _take(self, frame: bytes) -> None:
        assert self._link is not None
        try:
            message = unpack(frame)
        except BadMessage as error:
            kind = "Cluster bus: a message is dropped"
            self._bus.log("verbose", kind, f"{kind}: {error}")
            return
        if not self.is_dropped:
            self._bus.happened(Received(self._link, message))

    def connection_lost(self, error: Exception | None) -> None:
        self._bus.lost(self)
        self.transport = None
        if not self.is_dropped and self._link is not None:
            self.is_dropped = True
            self._bus.happened(LinkLost(self._link))

    def drop(self) -> None:
        if self.transport is not None:
            self.transport.abort()


def _keep_alive(sock: socket.socket | None) -> None:
    """Detect a vanished peer: a connection that it has dialled would otherwise never end."""
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_SECONDS // 3)
