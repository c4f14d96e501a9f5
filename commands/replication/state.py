"""The state of replication: this server's role, history and primary.

Plain attributes, set by the server (server/replication) and read by commands: INFO, ROLE, WAIT and
the gates of the dispatcher. Times are Unix ms; -1 stands for never or unknown.

A history is named by a replication ID, and a place in it is an offset: how many bytes of the
stream of requests came before. Two servers with the same ID and offset have the same data. After a
promotion the second ID names the history up to where the two part (`second_offset` is the first
byte that the old one does not share).

Source: the replication section of INFO in Redis 7.0 and 8.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from commands.core.propagation.propagation import Propagation
from protocol.records import record

UNKNOWN = -1
NO_ID = "0" * 40
# The capability of a Rillway replica (REPLCONF capa): it reads the newest format.
RILLWAY = b"rillway"


class LinkPhase(Enum):
    """The state of the link to the primary; the values are those of ROLE."""

    NONE = "none"  # this is no replica
    CONNECT = "connect"  # to be connected at the next tick
    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    SYNC = "sync"  # the snapshot is received, or loaded
    CONNECTED = "connected"


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
    received_offset: int = 0  # of bytes that were received, whether applied or not
    synced_offset: int = UNKNOWN  # on this replica's disk, if it has an append-only file
    heard_ms: int = UNKNOWN
    up_since_ms: int = UNKNOWN
    down_since_ms: int = UNKNOWN
    down_total_ms: int = 0
    attempts: int = 0  # to synchronise, since the link was up
    total_attempts: int = 0
    damage: str = ""  # in a value, that the primary's stream has met: the data may differ
    is_transferring: bool = False  # a snapshot is received or loaded
    is_installing: bool = False  # it is complete, and is being loaded
    snapshot_bytes: int = 0  # its announced length in bytes; 0 if it ends with a marker
    snapshot_bytes_read: int = 0
    snapshot_heard_ms: int = UNKNOWN


class ReplicationState:
    """The state of replication of one instance; see the module."""

    def __init__(self, replication_id: str, propagation: Propagation) -> None:
        self._propagation = propagation  # which counts what is added to the stream
        self.replication_id = replication_id
        self.second_id = NO_ID
        self.second_offset = UNKNOWN
        self.stream_db = 0  # that the stream has selected
        self.is_replica = False
        self.backlog: BacklogFacts | None = None
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
        # statistics
        self.full_syncs = 0
        self.partial_syncs = 0
        self.refused_partial_syncs = 0
        self.input_bytes = 0
        self.output_bytes = 0

    @property
    def offset(self) -> int:
        """The place in the history that the data of this server has reached."""
        return self._propagation.offset

    @offset.setter
    def offset(self, offset: int) -> None:
        self._propagation.offset = offset

    @property
    def is_feeding(self) -> bool:
        """True if what is propagated goes to replicas, or to the backlog for them."""
        return self._propagation.feeds_stream

    def reset_counts(self) -> None:
        """CONFIG RESETSTAT."""
        self.full_syncs = self.partial_syncs = self.refused_partial_syncs = 0
        self.input_bytes = self.output_bytes = 0

    @property
    def is_link_up(self) -> bool:
        """True if the link is established, so that the primary's requests arrive."""
        return self.link.phase is LinkPhase.CONNECTED
