"""A cluster node of our core on real sockets, for tests beside real servers: one thread, no data.

It keeps every frame that it was sent, as it came.
"""

from __future__ import annotations

import random
import selectors
import socket
import time
from collections.abc import Callable

from server.cluster import messages
from server.cluster.core import Cluster
from server.cluster.events import (
    Action,
    Close,
    Deliver,
    Dial,
    LinkLost,
    LinkOpened,
    Received,
    Send,
    Tick,
)
from server.cluster.messages import START_BYTES, BadFrame, Message
from server.cluster.nodes import Link
from server.cluster.state import Settings

TICK_SECONDS = 0.1
HOST = "127.0.0.1"


class Connection:
    """A socket of the bus, and what has come of a frame."""

    def __init__(self, stream: socket.socket, link: Link) -> None:
        self.stream = stream
        self.link = link
        self.unread = bytearray()
        self.unsent = bytearray()

    def frames(self) -> list[bytes]:
        found = []
        while len(self.unread) >= START_BYTES:
            size = messages.frame_size(bytes(self.unread[:START_BYTES]))
            if len(self.unread) < size:
                break
            found.append(bytes(self.unread[:size]))
            del self.unread[:size]
        return found


class BusNode:
    """The node; `run_until` is its event loop. It has no keys, and no clients."""

    def __init__(self, node_timeout_ms: int) -> None:
        self.listener = socket.create_server((HOST, 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.settings = Settings(
            node_timeout_ms=node_timeout_ms, port=self.port, bus_port=self.port, announce_ip=HOST
        )
        self.random = random.Random()
        self.cluster = Cluster(self.settings, self, self.random)
        self.frames: list[bytes] = []
        self.delivered: list[Deliver] = []
        self.actions: list[Action] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.listener, selectors.EVENT_READ)
        self._next_tick = 0.0

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()

    def received(self, kind: int, sender: str = "") -> list[Message]:
        """The messages of a type that have come, perhaps of one sender only."""
        found = [message for message in map(messages.unpack, self.frames) if message.type == kind]
        return [message for message in found if not sender or message.sender == sender]

    def frames_of(self, sender: str) -> list[Message]:
        """The messages of a sender."""
        found = map(messages.unpack, self.frames)
        return [message for message in found if message.sender == sender]

    # -- the data, as the core asks for it -----------------------------------------------------

    def replication_offset(self) -> int:
        return 0

    def data_age_ms(self) -> int | None:
        return None

    def keys_in_slot(self, slot: int) -> int:
        return 0

    def has_keys(self) -> bool:
        return False

    # -- the loop ------------------------------------------------------------------------------

    def run_until(self, holds: Callable[[], object], what: str, seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"{what}\n{self.cluster.nodes_text()}"
            self._turn()

    def do(self, actions: list[Action]) -> None:
        self.actions += actions
        for action in actions:
            if isinstance(action, Dial):
                self._dial(action)
            elif isinstance(action, Send):
                assert isinstance(action.link.transport, Connection)
                action.link.transport.unsent += messages.pack(action.message)
                self._write(action.link.transport)
            elif isinstance(action, Close):
                self._drop(action.link)
            elif isinstance(action, Deliver):
                self.delivered.append(action)

    def take_actions(self) -> None:
        """Carry out what an operation has led to."""
        self.do(self.cluster.take_actions(self.now_ms()))

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def _turn(self) -> None:
        for key, _ in self._selector.select(TICK_SECONDS / 4):
            if key.data is None:
                self._accept()
            elif key.data.link.is_open:
                self._read(key.data)
            else:
                self._note_dialled(key.data)
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + TICK_SECONDS
            self.do(self.cluster.step(Tick(), self.now_ms()))

    def _dial(self, dial: Dial) -> None:
        stream = socket.socket()
        stream.setblocking(False)
        stream.connect_ex((dial.ip, dial.port))
        self._keep(stream, dial.link, selectors.EVENT_WRITE)

    def _note_dialled(self, connection: Connection) -> None:
        if connection.stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._lose(connection)
            return
        self._selector.modify(connection.stream, selectors.EVENT_READ, connection)
        self.do(self.cluster.step(LinkOpened(connection.link), self.now_ms()))

    def _accept(self) -> None:
        stream, (peer_ip, _) = self.listener.accept()
        stream.setblocking(False)
        local_ip = stream.getsockname()[0]
        self._keep(
            stream, Link(None, True, True, self.now_ms(), peer_ip, local_ip), selectors.EVENT_READ
        )

    def _keep(self, stream: socket.socket, link: Link, event: int) -> None:
        link.transport = connection = Connection(stream, link)
        self._selector.register(stream, event, connection)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.stream.recv(65_536)
        except ConnectionError:
            data = b""
        if not data:
            self._lose(connection)
            return
        connection.unread += data
        try:
            frames = connection.frames()
        except BadFrame:
            self._lose(connection)  # a replica, which takes the port for one of clients
            return
        for frame in frames:
            self.frames.append(frame)
            event = Received(connection.link, messages.unpack(frame))
            self.do(self.cluster.step(event, self.now_ms()))

    def _write(self, connection: Connection) -> None:
        """A test sends so little that a socket takes it at once."""
        try:
            sent = connection.stream.send(connection.unsent)
        except OSError:
            return  # the next read says so
        del connection.unsent[:sent]

    def _lose(self, connection: Connection) -> None:
        self._drop(connection.link)
        self.do(self.cluster.step(LinkLost(connection.link), self.now_ms()))

    def _drop(self, link: Link) -> None:
        connection, link.transport = link.transport, None
        if isinstance(connection, Connection):
            self._selector.unregister(connection.stream)
            connection.stream.close()
