"""In-process servers in one network, and fake peers whose bytes a test writes."""

from __future__ import annotations

from protocol.replies import command
from server.inprocess.memory_network import Network
from server.inprocess.server import InProcessServer

PRIMARY, REPLICA, OTHER = 7001, 7002, 7003
ID = "ab" * 20


class Cluster:
    """Servers with one clock."""

    def __init__(self) -> None:
        self.network = Network()
        self.servers: list[InProcessServer] = []

    def server(self, port: int, **directives: str) -> InProcessServer:
        """A new one; diskless snapshots begin at once."""
        words = {"repl_diskless_sync_delay": "0", **directives}
        server = InProcessServer.in_network(self.network, None, port=str(port), **words)
        self.servers.append(server)
        return server

    def advance(self, ms: int = 1000) -> None:
        """Let time pass, and everything arrive."""
        self.network.now_ms += ms
        for server in self.servers:
            server.advance(ms)
        self.network.settle()

    def settle(self, ticks: int = 4) -> None:
        """Until links stand."""
        for _ in range(ticks):
            self.advance(500)


def follow(replica: InProcessServer, port: int = PRIMARY) -> None:
    """REPLICAOF."""
    assert replica.connect().execute("REPLICAOF", "host", port) == b"+OK\r\n"


def is_up(replica: InProcessServer) -> bool:
    """Whether the link stands."""
    return replica.instance.replication.is_link_up


class FakePrimary:
    """A primary that says what a test wants: `answers` by the first word of a request."""

    def __init__(self, answers: dict[bytes, bytes] | None = None) -> None:
        self.answers = {b"PING": b"+PONG\r\n", b"REPLCONF": b"+OK\r\n", **(answers or {})}
        self.closed = False
        self.seen: list[bytes] = []
        self.connections = 0
        self._outgoing = b""

    def connect(self) -> FakePrimary:
        """For `Network.peers`."""
        self.connections += 1
        self.closed = False
        self._outgoing = b""
        return self

    def feed(self, data: bytes) -> bytes:
        """See `Peer`."""
        self.seen.append(data)
        answer = b""
        for name, reply in self.answers.items():
            if b"$3\r\nACK\r\n" not in data:
                answer += reply * data.count(command([name])[4:])
        if data == b"SYNC\r\n":
            answer += self.answers.get(b"SYNC", b"")
        return answer

    def send(self, data: bytes) -> None:
        """Bytes that answer nothing."""
        self._outgoing += data

    def received(self) -> bytes:
        """See `Peer`."""
        data, self._outgoing = self._outgoing, b""
        return data

    def disconnect(self) -> None:
        """See `Peer`."""
        self.closed = True


def pair(**directives: str) -> tuple[Cluster, InProcessServer, InProcessServer]:
    """A primary with a key, and its replica."""
    cluster = Cluster()
    primary = cluster.server(PRIMARY)
    primary.connect().execute("XADD", "s", "1-1", "f", "v")
    replica = cluster.server(REPLICA, **directives)
    if "replicaof" not in directives:
        follow(replica)
    cluster.settle()
    assert is_up(replica)
    return cluster, primary, replica


def snapshot(*keys: bytes) -> bytes:
    """A snapshot with strings."""
    server = InProcessServer()
    for key in keys:
        server.connect().execute("SET", key, "v")
    server.persistence.save()
    return bytes(server.files.buffer("dump.rdb"))


def syncs(server: InProcessServer) -> tuple[int, int]:
    """How many were full, how many partial."""
    return server.instance.replication.full_syncs, server.instance.replication.partial_syncs


def faked(
    answers: dict[bytes, bytes], **directives: str
) -> tuple[Cluster, InProcessServer, FakePrimary]:
    """A replica with a key of its own that follows a primary which says what the test wants."""
    cluster = Cluster()
    fake = FakePrimary(answers)
    cluster.network.peers[PRIMARY] = fake.connect
    replica = cluster.server(REPLICA, **directives)
    replica.connect().execute("SET", "own", "v")
    follow(replica)
    cluster.network.settle()
    return cluster, replica, fake


def full_sync(data: bytes, offset: int = 10, name: str = ID) -> bytes:
    return b"+FULLRESYNC %b %d\r\n$%d\r\n%b" % (name.encode(), offset, len(data), data)


def keys(server: InProcessServer) -> set[bytes]:
    return set(server.instance.databases[0].keys())
