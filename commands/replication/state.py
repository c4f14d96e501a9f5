"""The state of replication: this server's role, history, replicas and primary.

Plain attributes, set by the server (server/replication) and read by commands: INFO, ROLE, WAIT and
the gates of the dispatcher. Times are Unix ms; -1 stands for never or unknown.

A history is named by a replication ID, and a place in it is an offset: how many bytes of the
stream of requests came before. Two servers with the same ID and offset have the same data. After a
promotion the second ID names the history up to where the two part (`second_offset` is the first
byte that the old one does not share).

Source: the replication section of INFO in Redis 7.0 and 8.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from protocol.records import entity, record

if TYPE_CHECKING:
    from commands.core.client import Client

UNKNOWN = -1
NO_ID = "0" * 40
# The capability of a Rillway replica (REPLCONF capa): it reads the newest format.
RILLWAY = b"rillway"


class ReplicaPhase(Enum):
    """The state of a replica; the values are those of INFO."""

    NONE = ""  # an ordinary connection that has sent REPLCONF
    WAIT_SNAPSHOT = "wait_bgsave"
    SEND_SNAPSHOT = "send_bulk"
    ONLINE = "online"


class LinkPhase(Enum):
    """The state of the link to the primary; the values are those of ROLE."""

    NONE = "none"  # this is no replica
    CONNECT = "connect"  # to be connected at the next tick
    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    SYNC = "sync"  # the snapshot is received, or loaded
    CONNECTED = "connected"


@entity
class Replica:
    """A connection that follows this server, or that has announced itself with REPLCONF."""

    client: Client
    phase: ReplicaPhase = ReplicaPhase.NONE
    # what it announced (REPLCONF)
    port: int = 0
    announced_ip: bytes = b""
    capabilities: set[bytes] = field(default_factory=set)
    wants_snapshot_only: bool = False  # rdb-only
    wants_keys: bool = True  # rdb-filter-only
    wants_functions: bool = True
    knows_offsets: bool = True  # came with PSYNC; with SYNC it never acknowledges
    # its state
    offset: int = 0  # acknowledged
    synced_offset: int = 0  # acknowledged to be in its append-only file, and on disk
    heard_ms: int = 0  # when it was last heard of
    waits_since_ms: int = 0  # for a snapshot to begin
    # the stream from its snapshot on, until that is transferred and acknowledged
    held: list[bytes] = field(default_factory=list)
    held_bytes: int = 0
    holds: bool = False

    @property
    def is_online(self) -> bool:
        """True if the replica has received the data of its snapshot."""
        return self.phase is ReplicaPhase.ONLINE

    @property
    def is_attached(self) -> bool:
        """True if the connection belongs to a replica, so that nothing is replied to it."""
        return self.phase is not ReplicaPhase.NONE

    @property
    def ip(self) -> bytes:
        """The address at which others reach it."""
        return self.announced_ip or self.client.address.rpartition(b":")[0].strip(b"[]")

    @property
    def name(self) -> str:
        """The replica's name in the log, as in Redis: its address, else its client ID."""
        port = str(self.port) if self.port else "<unknown-replica-port>"
        return f"{self.ip.decode('latin-1')}:{port}" if self.ip else f"client id #{self.client.id}"


class BacklogFacts(Protocol):
    """The facts about the backlog that INFO reports (server/replication/primary/backlog.py)."""

    @property
    def first_offset(self) -> int:
        """The offset of the first byte that is held, counted from 1."""

    @property
    def length(self) -> int:
        """The number of bytes held."""


@record
class LinkFacts:
    """The state of the link to the primary."""

    phase: LinkPhase = LinkPhase.NONE
    client: Client | None = None  # that runs the primary's requests, while it is connected
    received_offset: int = 0  # of bytes that were received, whether applied or not
    synced_offset: int = UNKNOWN  # on this replica's disk, if it has an append-only file
    heard_ms: int = UNKNOWN
    up_since_ms: int = UNKNOWN
    down_since_ms: int = UNKNOWN
    down_total_ms: int = 0
    attempts: int = 0  # to synchronise, since the link was up
    total_attempts: int = 0
    is_transferring: bool = False  # a snapshot is received or loaded
    is_installing: bool = False  # it is complete, and is being loaded
    snapshot_bytes: int = 0  # its announced length in bytes; 0 if it ends with a marker
    snapshot_bytes_read: int = 0
    snapshot_heard_ms: int = UNKNOWN


class ReplicationState:
    """The state of replication of one instance; see the module."""

    def __init__(self, replication_id: str) -> None:
        self.replication_id = replication_id
        self.second_id = NO_ID
        self.offset = 0
        self.second_offset = UNKNOWN
        self.stream_db = 0  # that the stream has selected
        self.is_replica = False
        self.backlog: BacklogFacts | None = None
        self.replicas: dict[Client, Replica] = {}
        # These, and clients that have announced themselves with REPLCONF.
        self.announced: dict[Client, Replica] = {}
        # What a Redis before 7.4 cannot follow, the times of hash fields: refused commands, the
        # last of them, refused replicas.
        self.newer_commands_refused = 0
        self.last_newer_command = b""
        self.older_replicas_refused = 0
        # On a replica: (database, key) of the keys that its own clients have given a time to live.
        self.local_deadlines: dict[tuple[int, bytes], None] = {}
        self.good_replicas = 0  # online, and heard of within min-replicas-max-lag
        self.link: LinkFacts = LinkFacts()
        self.failover = "no-failover"
        self.is_feeding = False  # what is propagated goes to replicas, or to the backlog for them
        # statistics
        self.full_syncs = 0
        self.partial_syncs = 0
        self.refused_partial_syncs = 0
        self.input_bytes = 0
        self.output_bytes = 0

    def announced_by(self, client: Client) -> Replica:
        """Return the replica that a client is; it becomes one if it was none."""
        replica = self.announced.get(client)
        if replica is None:
            replica = self.announced[client] = Replica(client)
        return replica

    def forget(self, client: Client) -> Replica | None:
        """Forget a client that has left; the replica that is lost with it, if it was one."""
        self.announced.pop(client, None)
        return self.replicas.pop(client, None)

    def reset_counts(self) -> None:
        """CONFIG RESETSTAT."""
        self.full_syncs = self.partial_syncs = self.refused_partial_syncs = 0
        self.input_bytes = self.output_bytes = 0

    @property
    def is_link_up(self) -> bool:
        """True if the link is established, so that the primary's requests arrive."""
        return self.link.phase is LinkPhase.CONNECTED

    @property
    def online_replicas(self) -> list[Replica]:
        """The replicas that follow the stream."""
        return [replica for replica in self.replicas.values() if replica.is_online]
