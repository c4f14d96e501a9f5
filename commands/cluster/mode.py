"""Cluster mode: this node, as the commands and the check of each request see it.

`ClusterNode` is implemented by server/cluster/core.py. A server without cluster mode has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from commands.core.client import Client
from commands.core.instance import Instance
from protocol import errors
from protocol.errors import ReplyError
from protocol.request import SLOT_COUNT

_DIGITS = bytes.maketrans(b"01", b"\0\1")


class Peer(Protocol):
    """A node of the cluster (server/cluster/nodes.py)."""

    @property
    def id(self) -> str: ...

    @property
    def ip(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def second_port(self) -> int: ...

    @property
    def hostname(self) -> str: ...

    @property
    def shard_id(self) -> str: ...

    @property
    def slots(self) -> int:
        """Bit s is slot s."""

    @property
    def is_replica(self) -> bool: ...

    @property
    def leader(self) -> Peer:
        """The primary of its shard."""


class SlotRange(Protocol):
    """An entry of CLUSTER SLOTS."""

    @property
    def first(self) -> int: ...

    @property
    def last(self) -> int: ...

    @property
    def primary(self) -> Peer: ...

    @property
    def replicas(self) -> Sequence[Peer]: ...


class ShardMember(Protocol):
    """A node in CLUSTER SHARDS."""

    @property
    def role(self) -> str: ...

    @property
    def offset(self) -> int: ...

    @property
    def health(self) -> str: ...

    @property
    def node(self) -> Peer: ...


class Shard(Protocol):
    """An entry of CLUSTER SHARDS."""

    @property
    def ranges(self) -> list[tuple[int, int]]: ...

    @property
    def members(self) -> Sequence[ShardMember]: ...


class LinkView(Protocol):
    """A connection of the bus, as CLUSTER LINKS shows it."""

    @property
    def is_inbound(self) -> bool: ...

    @property
    def created_ms(self) -> int: ...

    @property
    def node(self) -> Peer | None: ...


class ClusterNode(Protocol):
    """This node and what it knows of the others.

    Operations take the words of their command and raise ReplyError with Redis's texts.
    """

    @property
    def myself(self) -> Peer: ...

    @property
    def is_ok(self) -> bool: ...

    def check_set_slot(self, word: bytes) -> None: ...

    def slot_owner(self, slot: int) -> Peer | None: ...

    def migrating_to(self, slot: int) -> Peer | None: ...

    def importing_from(self, slot: int) -> Peer | None: ...

    def marked_slots(self) -> Iterable[int]: ...

    def info_text(self) -> str: ...

    def client_port(self, node: Peer, is_tls: bool) -> int: ...

    def nodes_text(self, is_tls: bool) -> str: ...

    def replica_lines(self, node_id: bytes, is_tls: bool) -> list[str]: ...

    def slot_ranges(self) -> Sequence[SlotRange]: ...

    def shards(self) -> Sequence[Shard]: ...

    def links(self) -> Sequence[LinkView]: ...

    def meet(self, ip: bytes, port: bytes, bus_port: bytes | None, monotonic_ms: int) -> None: ...

    def forget(self, node_id: bytes, monotonic_ms: int) -> None: ...

    def replicate(self, node_id: bytes) -> None: ...

    def count_failure_reports(self, node_id: bytes, monotonic_ms: int) -> int: ...

    def reset(self, is_hard: bool) -> None: ...

    def add_slots(self, words: list[bytes]) -> None: ...

    def add_slots_range(self, words: list[bytes]) -> None: ...

    def del_slots(self, words: list[bytes]) -> None: ...

    def del_slots_range(self, words: list[bytes]) -> None: ...

    def flush_slots(self) -> None: ...

    def set_slot_migrating(self, word: bytes, node_id: bytes) -> None: ...

    def set_slot_importing(self, word: bytes, node_id: bytes) -> None: ...

    def set_slot_stable(self, word: bytes) -> None: ...

    def set_slot_node(self, word: bytes, node_id: bytes) -> None: ...

    def bump_epoch(self) -> tuple[bool, int]: ...

    def set_config_epoch(self, word: bytes) -> None: ...

    def save_config(self) -> None: ...

    def fail_over(self, mode: bytes, monotonic_ms: int) -> None: ...

    def hand_over(self) -> bool: ...

    def publish(self, channel: bytes, message: bytes, is_sharded: bool) -> None: ...


class ClusterMode:
    """A feature of the instance. `node`: None without cluster mode.

    `served[slot]` is 1 for a slot that is this node's, has no mark and is served: a request whose
    keys are all in such a slot needs no closer look.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.node: ClusterNode | None = None
        self.served = bytearray(SLOT_COUNT)

    def enable(self, node: ClusterNode) -> None:
        """Be a node of a cluster from now on; at the start of the server."""
        self.node = node
        self._instance.is_cluster = True
        self.refresh()

    def refresh(self) -> None:
        """Note which slots are served, after a change of an owner, a mark or the state."""
        node = self.node
        assert node is not None
        slots = node.myself.slots if node.is_ok else 0
        for slot in node.marked_slots():
            slots &= ~(1 << slot)
        # The digits of a number are its bits: the fastest way to spread them.
        self.served[:] = f"{slots:0{SLOT_COUNT}b}"[::-1].encode().translate(_DIGITS)


def node_of(client: Client) -> ClusterNode:
    """This node, for a command that needs one. Raises ReplyError without cluster mode."""
    node = client.instance.feature(ClusterMode).node
    if node is None:
        raise ReplyError(errors.CLUSTER_DISABLED)
    return node
