"""What a server is at the moment: its role in replication, and what it has saved."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from commands.core.propagation import Propagation
from protocol.records import record

NEVER = -1


class PersistenceState:
    """The state of persistence of one instance. Times are monotonic, unless Unix ms is said."""

    def __init__(self, now_ms: int = 0, monotonic_ms: int = 0) -> None:
        # loading
        self.loading = False
        self.loading_started_ms = 0  # Unix ms
        self.loading_since_ms = 0
        self.loading_total_bytes = 0
        self.loading_loaded_bytes = 0
        self.loaded_keys = 0
        self.expired_keys_on_load = 0
        self.skipped_keys_on_load = 0  # of types that are not supported (rdb-skip-unsupported)
        self.loaded_history: dict[bytes, bytes] = {}  # what the snapshot contains
        # (database, key) of each key that was dropped: the replicas of that history hold them.
        self.dropped_on_load: list[tuple[int, bytes]] = []
        # snapshots
        # The last save; the start of the server until there was one.
        self.last_save_ms = now_ms  # Unix ms
        self.saved_ms = monotonic_ms
        self.last_save_attempt_ms = 0
        self.save_in_progress = False
        self.save_started_ms = 0
        self.save_scheduled = False
        self.save_succeeded = True  # the last one in the background
        self.save_duration_s = NEVER
        self.saves = 0
        self.save_failures = 0  # failures in a row
        self.save_copied_bytes = 0  # memory that the child had to copy (copy on write)
        # the append-only file
        self.rewrite_in_progress = False
        self.rewrite_started_ms = 0
        self.rewrite_scheduled = False
        self.rewrite_succeeded = True
        self.rewrite_duration_s = NEVER
        self.rewrites = 0
        self.rewrite_failures = 0  # failures in a row
        self.rewrite_copied_bytes = 0
        self.write_error = ""  # why the file cannot be written at present
        self.current_bytes = 0
        self.base_bytes = 0
        self.buffer_bytes = 0
        self.pending_syncs = 0
        self.delayed_syncs = 0
        # the child that saves or rewrites
        self.child_keys_processed = 0
        self.child_keys_total = 0
        self.child_copied_bytes = 0
        self.child_copied_peak_bytes = 0
        self.child_copied_at_ms = 0

    def reset_counts(self) -> None:
        """CONFIG RESETSTAT."""
        self.saves = self.save_failures = 0
        self.rewrites = self.rewrite_failures = self.delayed_syncs = 0


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
    """The facts about the backlog that INFO reports (server/replication/primary/feed.py)."""

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
