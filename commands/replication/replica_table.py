"""The replicas of this server, and the clients that have announced themselves with REPLCONF.

Plain attributes, set by the server (server/replication) and by REPLCONF. Times are Unix ms.

Replicas of a Redis older than 7.4 or a Valkey older than 9 know no times of hash fields. Everything
else that is newer than Redis 7.0 is propagated in words that 7.0 knows, or inside a carrier
(commands/core/registry.py). A replica that is neither Rillway nor Valkey 9
counts as the Redis that `repl-snapshot-version` names: with 7.0 or 7.2, commands that give fields a
time are refused while such a replica is attached (`check_field_times`), and such a replica is
refused while there are fields with a time.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from commands.core.client import Client, Clients
from commands.core.instance import Instance
from commands.core.server_state import RILLWAY
from protocol import errors
from protocol.errors import ReplyError
from protocol.records import entity
from storage.types.value import as_int64

_VALKEY_WITH_FIELD_TIMES = 9  # the major version


class ReplicaPhase(Enum):
    """The state of a replica; the values are those of INFO."""

    NONE = ""  # an ordinary connection that has sent REPLCONF
    WAIT_SNAPSHOT = "wait_bgsave"
    SEND_SNAPSHOT = "send_bulk"
    ONLINE = "online"


@entity
class Replica:
    """A connection that follows this server, or that has announced itself with REPLCONF."""

    client: Client
    phase: ReplicaPhase = ReplicaPhase.NONE
    # what it announced (REPLCONF)
    port: int = 0
    announced_ip: bytes = b""
    capabilities: set[bytes] = field(default_factory=set)
    version: bytes = b""  # which only Valkey announces, from 8 on
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
    def is_rillway(self) -> bool:
        """True if the replica is a Rillway, which reads the newest format."""
        return RILLWAY in self.capabilities

    @property
    def is_valkey(self) -> bool:
        """True if the replica is a Valkey that has times of hash fields (9)."""
        major = as_int64(self.version.partition(b".")[0])
        return major is not None and major >= _VALKEY_WITH_FIELD_TIMES

    @property
    def ip(self) -> bytes:
        """The address at which others reach it."""
        return self.announced_ip or self.client.address.rpartition(b":")[0].strip(b"[]")

    @property
    def name(self) -> str:
        """The replica's name in the log, as in Redis: its address, else its client ID."""
        port = str(self.port) if self.port else "<unknown-replica-port>"
        return f"{self.ip.decode('latin-1')}:{port}" if self.ip else f"client id #{self.client.id}"


class ReplicaTable:
    """The replicas of one server, by their clients."""

    def __init__(self, instance: Instance) -> None:
        self.replicas: dict[Client, Replica] = {}
        # These, and clients that have announced themselves with REPLCONF.
        self.announced: dict[Client, Replica] = {}
        self._log = instance.host.log
        instance.feature(Clients).on_close.append(self.forget)

    def announced_by(self, client: Client) -> Replica:
        """Return the replica that a client is; it becomes one if it was none."""
        replica = self.announced.get(client)
        if replica is None:
            replica = self.announced[client] = Replica(client)
        return replica

    def forget(self, client: Client) -> None:
        """Forget a client that has left; log that, if it was a replica."""
        self.announced.pop(client, None)
        replica = self.replicas.pop(client, None)
        if replica is not None:
            self._log("notice", f"Connection with replica {replica.name} lost.")

    @property
    def online(self) -> list[Replica]:
        """The replicas that follow the stream."""
        return [replica for replica in self.replicas.values() if replica.is_online]


_BEFORE_7_4 = ("7.0", "7.2")


def check_field_times(client: Client, name: bytes) -> None:
    """Raise ReplyError if an attached replica cannot follow `name`, a command on field times."""
    instance = client.instance
    replicas = instance.feature(ReplicaTable).replicas
    if not replicas or client.replays:
        return
    if any(_is_before_7_4(instance, replica) for replica in replicas.values()):
        state = instance.replication
        state.newer_commands_refused += 1
        state.last_newer_command = name
        raise errors.newer_than_replicas(name, instance.config.repl_snapshot_version)


def check_replica(instance: Instance, replica: Replica) -> None:
    """Raise ReplyError if a replica is to attach that cannot hold the data."""
    if not _is_before_7_4(instance, replica):
        return
    if any(db.field_expires for db in instance.databases):
        instance.replication.older_replicas_refused += 1
        raise ReplyError(errors.OLDER_REPLICA)


def _is_before_7_4(instance: Instance, replica: Replica) -> bool:
    if replica.is_rillway or replica.is_valkey:
        return False
    if replica.wants_snapshot_only or not replica.wants_keys:
        return False
    return instance.config.repl_snapshot_version in _BEFORE_7_4
