"""`Services`: what handlers may ask of the server.

The runner, which is the dispatcher, runs commands; persistence and replication know the files and
the other servers.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Protocol

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import Runner
from protocol.records import record


class Persistence(Protocol):
    """The persistence services that commands use (server/persistence/persistence.py).

    The state is in `Instance.persistence`. The log has the reason for a failure.
    """

    @property
    def synced_units(self) -> int:
        """The number of `Propagation.units` on disk; -1 if the append-only file is off."""

    def save(self) -> bool:
        """Write a snapshot and return when it is on disk; False if that failed.

        No child may be saving.
        """

    def start_save(self) -> bool:
        """Start a child that writes a snapshot; False if that failed. No child may be running."""

    def start_rewrite(self) -> bool:
        """Start a child that rewrites the append-only file; False if that failed.

        No other may run.
        """

    def files_now(self) -> FilesNow:
        """The files of this moment, between two units. Raises OSError."""

    def answer_when_synced(self, client: Client, block: Block, units: int) -> None:
        """Answer a client that is about to wait on `block` (WAITAOF) once `units` are synced."""

    def data_replaced(self) -> None:
        """A synchronisation replaced all data: start the append-only file again."""

    def all_data_flushed(self) -> None:
        """FLUSHALL: stop a child that saves the removed data; with `save` points, save again."""

    def reload_snapshot(self, *, save: bool, flush: bool, merge: bool) -> None:
        """DEBUG RELOAD: save a snapshot, remove all data, load the snapshot; `save` and `flush`
        switch the first two off.

        `merge`: keys of the file replace those that are there. Raises ReplyError.
        """

    def reload_append_only_file(self) -> None:
        """DEBUG LOADAOF: remove all data and load the append-only file.

        The process ends if that fails.
        """


class Replication(Protocol):
    """The replication services that commands use (server/replication/replication.py).

    The state is in `Instance.replication`, replicas in commands/replication/replica_table.py.
    """

    def send(self, replica: Any, data: bytes) -> None:
        """Send bytes to a replica, in the order of the calls."""

    def check_can_serve(self, client: Client) -> None:
        """Raise ReplyError if the client cannot become a replica now."""

    def synchronise(self, client: Client, replication_id: bytes, offset: int) -> None:
        """PSYNC: make the client a replica that has everything before `offset`."""

    def synchronise_blindly(self, client: Client) -> None:
        """SYNC: make the client a replica that does not use offsets."""

    def acknowledged(self, replica: Any) -> None:
        """A replica has acknowledged an offset."""

    def answer_when_acknowledged(
        self, client: Client, block: Block, counted: int, *, on_disk: bool
    ) -> None:
        """Run the command of a client that is about to wait on `block` again when more than the
        `counted` replicas acknowledge what it waits for (WAIT, WAITAOF).
        """

    def take_over(self, replication_id: bytes) -> None:
        """PSYNC ... FAILOVER: become the primary at the primary's request. Raises ReplyError."""

    def start_failover(
        self, target: tuple[str, int] | None, timeout_ms: int, *, force: bool
    ) -> None:
        """Hand the role over to a replica as soon as it is up to date. `timeout_ms` 0: no limit."""

    def abort_failover(self) -> None:
        """Stay the primary."""

    def follow(self, host: str, port: int) -> None:
        """REPLICAOF: become a replica of the given server."""

    def promote(self) -> None:
        """REPLICAOF NO ONE: become a primary."""

    def acknowledge_now(self) -> None:
        """Send the primary this server's offset (REPLCONF ACK)."""


class Migration(Protocol):
    """MIGRATE's way to other servers (server/migration.py)."""

    def start(self, client: Client, block: Block, order: MigrationOrder) -> None:
        """Send keys to another server, delete them here, and answer a client that is about to wait
        on `block`. Writes to the keys wait meanwhile.
        """


@record
class MigrationOrder:
    """What MIGRATE asks for. `keys` are there; `credentials`: user and password, or a password."""

    host: str
    port: int
    db: int
    timeout_ms: int
    keys: list[bytes]
    copies: bool = False
    replaces: bool = False
    credentials: tuple[bytes, ...] = ()


@record
class FilesNow:
    """The files of a server at one moment; of the append-only file nothing if it is off.

    The first `sizes` bytes of its files have everything but `pending_bytes`, and end with a unit.
    All files but the last never change again, but a rewrite may remove or move them.
    """

    acl_file: str = ""
    folder: str = ""
    file_name: str = ""
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    manifest: bytes = b""
    pending_bytes: int = 0
    kept_folder: str = ""
    kept: list[tuple[int, list[str], bytes]] = field(default_factory=list)  # until, names, manifest


class Services:
    """The services of one server; each sets itself here."""

    def __init__(self, instance: Instance) -> None:
        self.runner: Runner
        self.persistence: Persistence
        self.replication: Replication
        self.migration: Migration
