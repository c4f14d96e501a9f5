"""An in-memory network between in-process servers, for deterministic tests of replication.

    network = Network()
    primary = InProcessServer.in_network(network, port="7001")
    replica = InProcessServer.in_network(network, port="7002")
    network.settle()                   # delivers until nothing is in flight
    network.cut(replica)               # breaks its links; data in flight is lost
    network.is_open = False            # refuses connections

Data moves only in `deliver` and `settle`. A port may belong to a `Receiver` factory instead of a
server (`network.peers[port] = ...`): a peer whose bytes the test writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from server.persistence.files import File
from server.replication.sockets import Pipe, Receiver, Wire

_MAX_ROUNDS = 100_000


class Peer(Protocol):
    """The peer of a connection: a server, or a fake that a test writes."""

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns the answer."""

    def received(self) -> bytes:
        """Further output."""

    @property
    def closed(self) -> bool:
        """True if this end has closed."""

    def disconnect(self) -> None:
        """The other end has closed."""


class Member(Protocol):
    """The part of a server that the network uses (server/inprocess/server.py)."""

    @property
    def port(self) -> int:
        """The port at which others reach it."""

    def connect(self) -> Peer:
        """Accept a connection."""

    def run_cycle(self, event: Callable[[], object]) -> None:
        """Run an event of the network in a cycle of its own."""


class Network:
    """The servers, their connections, and the data in flight."""

    def __init__(self) -> None:
        self.peers: dict[int, Callable[[], Peer]] = {}
        self.is_open = True
        self.now_ms = 1_700_000_000_000  # for new servers
        self.piece_bytes = 0  # bytes arrive in pieces of that size; 0: as they were sent
        self._wires: list[MemoryWire] = []
        self._callbacks: list[Callable[[], object]] = []

    def outside_of(self, server: Member) -> MemoryOutside:
        """The `Outside` of one server, which others then reach by its port."""
        self.peers[server.port] = server.connect
        return MemoryOutside(self, server)

    def deliver(self) -> bool:
        """Deliver one step on every connection; whether anything moved."""
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        moved = bool(callbacks)
        for wire in list(self._wires):
            moved |= wire.move()
        return moved

    def settle(self) -> None:
        """Deliver until nothing is on its way."""
        for _ in range(_MAX_ROUNDS):
            if not self.deliver():
                return
        raise AssertionError("data is still in flight after many steps")

    def cut(self, server: Member) -> None:
        """Break the connections that a server has opened."""
        for wire in list(self._wires):
            if wire.owner is server:
                wire.lose("cut")

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def add(self, wire: MemoryWire) -> None:
        self._wires.append(wire)

    def remove(self, wire: MemoryWire) -> None:
        if wire in self._wires:
            self._wires.remove(wire)


class MemoryOutside:
    """`Outside` of one server."""

    def __init__(self, network: Network, server: Member) -> None:
        self._network = network
        self._server = server

    def connect(self, host: str, port: int, receiver: Receiver) -> Wire:
        """Begin to connect; the connection opens with the next delivery. Only `port` matters."""
        wire = MemoryWire(self._network, self._server, port, receiver)
        self._network.add(wire)
        return wire

    def open_pipe(self) -> Pipe:
        """Return a new pipe in memory."""
        return MemoryPipe(self._network.call_soon)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call back with the next delivery."""
        self._network.call_soon(callback)


class MemoryWire:
    """`Wire` in memory."""

    def __init__(self, network: Network, owner: Member, port: int, receiver: Receiver) -> None:
        self.owner = owner
        self._network = network
        self._port = port
        self._receiver = receiver
        self._peer: Peer | None = None
        self._out = b""
        self._in = b""
        self._is_paused = False

    def move(self) -> bool:
        """Deliver data in flight; whether there was any."""
        if self._peer is None:
            return self._begin()
        moved = False
        if self._out:
            data, self._out = self._out, b""
            if not self._peer.closed:
                self._in += self._peer.feed(data)
            moved = True
        self._in += self._peer.received()
        if self._in and not self._is_paused:
            size = self._network.piece_bytes or len(self._in)
            data, self._in = self._in[:size], self._in[size:]
            self.owner.run_cycle(lambda: self._receiver.received(data))
            return True
        if self._peer.closed and not self._in:
            self.lose("closed by the peer")
            return True
        return moved

    def _begin(self) -> bool:
        peer = self._network.peers.get(self._port)
        if peer is None or not self._network.is_open:
            self.lose("Connection refused")
            return True
        self._peer = peer()
        address = b"127.0.0.1:%d" % self._port
        self.owner.run_cycle(lambda: self._receiver.connected(address, b"?:0", -1))
        return True

    def lose(self, reason: str) -> None:
        """Break the connection, and notify both ends."""
        self._end()
        self.owner.run_cycle(lambda: self._receiver.lost(reason))

    def _end(self) -> None:
        self._network.remove(self)
        if self._peer is not None and not self._peer.closed:
            self._peer.disconnect()

    def write(self, data: bytes) -> None:
        """Queue bytes for the next delivery."""
        self._out += data

    def pause(self) -> None:
        """Stop passing received bytes on for now."""
        self._is_paused = True

    def resume(self) -> None:
        """Pass received bytes on again."""
        self._is_paused = False

    def close(self) -> None:
        """Close the connection and notify the peer; `lost` is not called."""
        self._end()


class MemoryPipe:
    """`Pipe` in memory: the child has written everything before the server watches."""

    descriptor = -1

    def __init__(self, call_soon: Callable[[Callable[[], object]], None]) -> None:
        self._end = _MemoryPipeEnd()
        self.writer: File = self._end
        self._call_soon = call_soon
        self._callback: Callable[[bytes], object] | None = None
        self._is_paused = False

    def close_writer(self) -> None:
        """Do nothing: there is one copy of the writer."""

    def watch(self, callback: Callable[[bytes], object]) -> None:
        """Call back with the written chunks, one with each delivery; b"" is the end."""
        self._callback = callback
        self._call_soon(self._read)

    def _read(self) -> None:
        if self._callback is None or self._is_paused:
            return
        data = self._end.chunks.pop(0) if self._end.chunks else b""
        if data:
            self._call_soon(self._read)
        self._callback(data)

    def pause(self) -> None:
        """Stop the callbacks for now."""
        self._is_paused = True

    def resume(self) -> None:
        """Start the callbacks again."""
        if self._is_paused:
            self._is_paused = False
            self._call_soon(self._read)

    def close(self) -> None:
        """Close the pipe: nothing is called back any more."""
        self._callback = None


class _MemoryPipeEnd:
    """The writer's end, as a `File`."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep the bytes for the reader; return their number."""
        self.chunks.append(data)
        return len(data)

    def sync(self) -> None:
        """A pipe keeps nothing."""

    def begin_sync(self) -> None:
        """A pipe keeps nothing."""

    def truncate(self, size: int) -> None:
        """A pipe keeps nothing."""

    def size(self) -> int:
        """A pipe keeps nothing."""
        return 0

    def close(self) -> None:
        """Do nothing: the chunks stay until they are read."""
