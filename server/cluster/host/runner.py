"""Runs the cluster core in a server: its timer, its events, its actions.

Actions are carried out in the order in which the core returns them, so promises are on disk before
other nodes get them. At the end of each cycle of the event loop, before replies leave, the actions
of the cycle's commands are carried out.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
from collections.abc import Callable, Iterable

from commands.cluster.mode import ClusterMode
from commands.cluster.routing import refusal_of_waiting
from commands.config.configuration import Configuration
from commands.core import notifications
from commands.core.blocked_clients import BlockedClients
from commands.core.gates import GATE_FAILOVER
from commands.core.instance import Instance
from commands.core.registry import CommandTable
from commands.core.server_state import UNKNOWN
from commands.core.services import Services
from commands.keys.databases import empty
from commands.pubsub.registry import PubSub
from server.cluster.config_file import BadConfig
from server.cluster.core import Cluster
from server.cluster.events import (
    Action,
    Close,
    DeleteKeysInSlots,
    Deliver,
    Dial,
    EmptyData,
    Event,
    Log,
    PauseWrites,
    Promote,
    ReplicateFrom,
    ResumeWrites,
    Save,
    Send,
    SlotsChanged,
    StateChanged,
    Tick,
)
from server.cluster.host.bus import Bus
from server.cluster.nodes import each_slot
from server.cluster.operations import BUS_PORT_OFFSET, MAX_PORT
from server.cluster.state import Settings
from server.requests.dispatch import Dispatcher
from server.tls.credentials import Credentials
from storage.keyspace.database import SlotIndex


class InstanceData:
    """Answers of one instance (`server.cluster.state.Data`)."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def replication_offset(self) -> int:
        """The offset sent (primary) or applied (replica)."""
        return self._instance.replication.offset

    def data_age_ms(self) -> int | None:
        """A replica: since when its data has not been confirmed by its primary."""
        replication = self._instance.replication
        facts = replication.link
        # Bytes of a snapshot are heard as well, while the data is still the former.
        since_ms = facts.heard_ms if replication.is_link_up else facts.down_since_ms
        return None if since_ms == UNKNOWN else max(0, self._instance.monotonic_ms - since_ms)

    def keys_in_slot(self, slot: int) -> int:
        """The number of keys in a slot."""
        index = self._instance.databases[0].slots
        return index.count(slot) if index is not None else 0

    def has_keys(self) -> bool:
        """Return True if there is any key."""
        return len(self._instance.databases[0]) > 0


class NodeFileInUse(Exception):
    """Another process has the file."""


class NodeFile:
    """The file at `path`; it stays locked while this object lives."""

    def __init__(self, path: str) -> None:
        """Create it if it is missing, and lock it. Raises OSError, NodeFileInUse."""
        self._path = path
        # Not the file itself: it is replaced, and the lock would stay on the old one.
        self._lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise NodeFileInUse(
                f"the cluster configuration file {path} is used by another node: each node needs"
                " one of its own (cluster-config-file)"
            ) from None

    def read(self) -> str:
        """The text; empty if there is no file yet. Raises OSError."""
        try:
            with open(self._path, encoding="latin-1") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, text: str, *, is_synced: bool) -> None:
        """Replace the text. `is_synced`: the new text survives a crash. Raises OSError."""
        temporary = f"{self._path}.tmp-{os.getpid()}"
        with open(temporary, "w", encoding="latin-1") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # or else the file before, with its promises, could be lost
        os.replace(temporary, self._path)
        if is_synced:
            folder = os.open(os.path.dirname(os.path.abspath(self._path)), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def close(self) -> None:
        """Let another process have it."""
        os.close(self._lock)


def release_blocked(instance: Instance) -> None:
    """Answer each blocked client that this node no longer serves; it stays connected."""
    node = instance.feature(ClusterMode).node
    blocked = instance.feature_if_used(BlockedClients)
    if node is None or blocked is None:
        return
    table, runner = instance.feature(CommandTable), instance.feature(Services).runner
    for client, waiting in list(blocked.clients.items()):
        command = table.find(waiting.argv)
        if command is None or not waiting.watched:
            continue
        error = refusal_of_waiting(client, command, waiting.argv)
        # Clients go on waiting for keys that have moved before their slot: the slot follows them.
        if error is not None and error.code in (b"MOVED", b"CLUSTERDOWN"):
            runner.end_waiting(client, error.wire)


TICK_SECONDS = 0.1
SHORTEST_DIAL_SECONDS = 1.0


def bus_port(config: Configuration) -> int:
    """Where the node listens for others: CLUSTER MEET adds the offset to the port of a node."""
    port = config.tls_port if config.tls_cluster else config.port or config.tls_port
    return config.cluster_port or port + BUS_PORT_OFFSET


def open_node(
    dispatcher: Dispatcher,
    loop: asyncio.AbstractEventLoop,
    credentials: Credentials,
    begin_event: Callable[[], None],
    wake: Callable[[], None],
    fatal: Callable[[str], object],
) -> ClusterRunner:
    """The node that the configuration describes. Raises OSError if it cannot be one."""
    config = dispatcher.instance.config
    if config.replicaof is not None:
        raise OSError("replicaof directive not allowed in cluster mode")
    if bus_port(config) > MAX_PORT:
        raise OSError(
            f"the port of the cluster bus would be {bus_port(config)}: set cluster-port, or a port"
            f" up to {MAX_PORT - BUS_PORT_OFFSET}"
        )
    path = config.cluster_config_file
    try:
        file = NodeFile(path)
        return ClusterRunner(dispatcher, loop, credentials, file, begin_event, wake, fatal)
    except NodeFileInUse as error:
        raise OSError(str(error)) from None
    except BadConfig as error:
        raise OSError(
            f"{path} is damaged: {error}. Restore it from a copy; without the file this starts as"
            " a new node, which the cluster does not know"
        ) from None
    except OSError as error:
        raise OSError(f"the cluster configuration file {path}: {error.strerror}") from None


class ClusterRunner:
    """The node of one server."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        loop: asyncio.AbstractEventLoop,
        credentials: Credentials,
        file: NodeFile,
        begin_event: Callable[[], None],
        wake: Callable[[], None],
        fatal: Callable[[str], object],
    ) -> None:
        """Raises OSError if the file cannot be read, BadConfig if it is damaged."""
        self._dispatcher = dispatcher
        self._instance = instance = dispatcher.instance
        self._loop = loop
        self._file = file
        self._begin_event = begin_event
        self._wake = wake
        self._fatal = fatal
        self._is_stopped = False
        self._paused_until_ms = 0
        self.settings = Settings()
        self._look_up_settings()
        self.core = Cluster(
            self.settings,
            InstanceData(instance),
            random.SystemRandom(),
            file.read(),
            instance.monotonic_ms,
        )
        self._bus = Bus(
            loop,
            self._happened,
            lambda: instance.monotonic_ms,
            instance.host.log_bounded,
            credentials,
        )
        self._mode = instance.feature(ClusterMode)
        instance.databases[0].slots = SlotIndex()
        self._mode.enable(self.core)

    # -- life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen for other nodes, once the ports for clients are known. Raises OSError."""
        self.apply_config()
        config = self._instance.config
        self._bus.listen(config.bind, bus_port(config))

    def begin(self) -> None:
        """Take part in the cluster, once the data is loaded."""
        index = self._instance.databases[0].slots
        if index is not None:
            self.core.note_loaded(sum(1 << slot for slot in index.slots()))
        self.flush()
        self._loop.call_later(TICK_SECONDS, self._tick)

    def stop(self) -> None:
        """Leave the bus."""
        self._is_stopped = True
        self._bus.stop()
        self._file.close()

    def apply_config(self) -> None:
        """Apply the directives; other nodes learn of them with the next message."""
        self._look_up_settings()
        self.core.state.refresh_myself()

    def _look_up_settings(self) -> None:
        config, settings = self._instance.config, self.settings
        settings.node_timeout_ms = config.cluster_node_timeout
        settings.require_full_coverage = config.cluster_require_full_coverage
        settings.replica_validity_factor = config.cluster_replica_validity_factor
        settings.replica_no_failover = config.cluster_replica_no_failover
        settings.migration_barrier = config.cluster_migration_barrier
        settings.allow_replica_migration = config.cluster_allow_replica_migration
        settings.replica_ping_ms = config.repl_ping_replica_period * 1000
        settings.tls_cluster = config.tls_cluster
        settings.tls_replication = config.tls_replication
        plain = config.cluster_announce_port or config.port
        encrypted = config.cluster_announce_tls_port or config.tls_port
        ports = (encrypted, plain) if config.tls_cluster else (plain, encrypted)
        settings.port, settings.second_port = ports
        settings.bus_port = config.cluster_announce_bus_port or bus_port(config)
        settings.announce_ip = config.cluster_announce_ip
        settings.hostname = config.cluster_announce_hostname
        settings.human_name = config.cluster_announce_human_nodename

    # -- events --------------------------------------------------------------------------------

    def _tick(self) -> None:
        if self._is_stopped:
            return
        self._loop.call_later(TICK_SECONDS, self._tick)
        self._happened(Tick())
        if self._paused_until_ms and self._instance.monotonic_ms >= self._paused_until_ms:
            self._resume_writes()

    def _happened(self, event: Event) -> None:
        if not self._is_stopped:
            self._begin_event()
            instance, state = self._instance, self.core.state
            state.unix_offset_ms = instance.now_ms - instance.monotonic_ms
            self._carry_out(self.core.step(event, instance.monotonic_ms))
            self._wake()

    def flush(self) -> None:
        """Carry out what commands have changed: a step of the cycle, before replies leave."""
        self._carry_out(self.core.take_actions(self._instance.monotonic_ms))

    # -- actions -------------------------------------------------------------------------------

    def _carry_out(self, actions: Iterable[Action]) -> None:
        has_changed = False
        for action in actions:
            if isinstance(action, Save | SlotsChanged | StateChanged):
                has_changed = True
            self._do(action)
        if has_changed:
            self._mode.refresh()
            release_blocked(self._instance)

    def _do(self, action: Action) -> None:
        instance = self._instance
        match action:
            case Send(link=link, message=message):
                limit = instance.config.cluster_link_sendbuf_limit
                if not self._bus.send(link, message, limit):
                    self.core.state.overfull_links += 1
            case Dial(link=link, ip=ip, port=port):
                timeout_s = max(SHORTEST_DIAL_SECONDS, self.settings.node_timeout_ms / 1000)
                self._bus.dial(link, ip, port, timeout_s)
            case Close(link=link):
                self._bus.close(link)
            case Save(text=text, is_promise=is_promise):
                self._save(text, is_promise)
            case Log(text=text, is_warning=is_warning):
                instance.host.log("warning" if is_warning else "notice", text)
            case ReplicateFrom(ip=ip, port=port):
                instance.feature(Services).replication.follow(ip, port)
            case SlotsChanged(slots=slots):
                instance.feature(PubSub).leave_slots(slots)
            case Promote():
                instance.feature(Services).replication.promote()
            case DeleteKeysInSlots(slots=slots):
                self._delete_keys(slots)
            case EmptyData():
                empty(instance)
            case PauseWrites(until_ms=until_ms):
                self._paused_until_ms = until_ms
                instance.set_gate(GATE_FAILOVER, is_shut=True)
            case ResumeWrites():
                self._resume_writes()
            case Deliver(channel=channel, message=message, is_sharded=is_sharded):
                if is_sharded:
                    instance.feature(PubSub).publish_to_shard(channel, message)
                else:
                    instance.feature(PubSub).publish(channel, message)

    def _save(self, text: str, is_promise: bool) -> None:
        try:
            self._file.write(text, is_synced=is_promise)
        except OSError as error:
            self._fatal(f"Could not save the cluster configuration: {error}")

    def _delete_keys(self, slots: int) -> None:
        """Keys of slots that another node has won."""
        instance = self._instance
        db = instance.databases[0]
        if db.slots is None:
            return
        deleted = 0
        for slot in each_slot(slots):
            for key in db.slots.first(slot, db.slots.count(slot)):
                instance.drop(db, key, b"DEL", notifications.GENERIC, b"del")
                deleted += 1
        if deleted:
            instance.host.log("warning", f"Deleted {deleted} keys of slots that others own now")

    def _resume_writes(self) -> None:
        self._paused_until_ms = 0
        self._instance.set_gate(GATE_FAILOVER, is_shut=False)
        self._dispatcher.admission.resume_postponed()
