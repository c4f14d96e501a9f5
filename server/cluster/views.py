"""The replies of CLUSTER commands that change nothing, as plain values: the commands encode them.

Redis's rules: docs of CLUSTER SLOTS, SHARDS, INFO, LINKS. The text of INFO and NODES is complete.
"""

from __future__ import annotations

from protocol.records import frozen_record
from server.cluster.config_file import shown_line
from server.cluster.messages import TYPE_NAMES
from server.cluster.nodes import FAIL, Link, Node, slot_ranges
from server.cluster.state import ClusterState


@frozen_record
class SlotRange:
    """An entry of CLUSTER SLOTS: a range of slots, its primary, and the replicas that work."""

    first: int
    last: int
    primary: Node
    replicas: list[Node]


@frozen_record
class ShardMember:
    """A node in CLUSTER SHARDS. `health` is `online`, `loading` or `fail`."""

    node: Node
    role: str
    offset: int
    health: str


@frozen_record
class Shard:
    """An entry of CLUSTER SHARDS. `ranges`: the first and the last slot of each."""

    ranges: list[tuple[int, int]]
    members: list[ShardMember]


def nodes_text(state: ClusterState, is_tls: bool) -> str:
    """CLUSTER NODES."""
    return "".join(f"{shown_line(state, node, is_tls)}\n" for node in state.nodes.values())


def replica_lines(state: ClusterState, primary: Node, is_tls: bool) -> list[str]:
    """CLUSTER REPLICAS."""
    return [shown_line(state, replica, is_tls) for replica in primary.replicas]


def all_slot_ranges(state: ClusterState) -> list[SlotRange]:
    """CLUSTER SLOTS, by the first slot of each range."""
    found = []
    for primary in state.nodes.values():
        if primary.slots:
            replicas = [each for each in primary.replicas if _is_shown(state, each)]
            found += [
                SlotRange(first, last, primary, replicas)
                for first, last in slot_ranges(primary.slots)
            ]
    return sorted(found, key=lambda each: each.first)


def _is_shown(state: ClusterState, replica: Node) -> bool:
    """Return False for replicas that have failed, or never had data."""
    return not replica.flags & FAIL and offset_of(state, replica) > 0


def shards(state: ClusterState) -> list[Shard]:
    """CLUSTER SHARDS: nodes with the same shard ID, the primary first."""
    members: dict[str, list[Node]] = {}
    for node in state.nodes.values():
        if not node.in_handshake:
            members.setdefault(node.shard_id, []).append(node)
    return [_shard(state, nodes) for nodes in members.values()]


def _shard(state: ClusterState, nodes: list[Node]) -> Shard:
    slots = 0
    for node in nodes:
        slots |= node.slots
    ordered = sorted(nodes, key=lambda node: not node.is_primary)
    return Shard(list(slot_ranges(slots)), [_member(state, node) for node in ordered])


def _member(state: ClusterState, node: Node) -> ShardMember:
    offset = offset_of(state, node)
    if node.flags & FAIL:
        health = "fail"
    elif node.is_replica and offset == 0:
        health = "loading"
    else:
        health = "online"
    return ShardMember(node, "master" if node.is_primary else "replica", offset, health)


def offset_of(state: ClusterState, node: Node) -> int:
    """The replication offset of a node: this one's now, another's as of its last message."""
    return state.data.replication_offset() if node is state.myself else node.offset


def links(state: ClusterState) -> list[Link]:
    """CLUSTER LINKS: the open links that belong to a node, dialled and accepted ones."""
    both = [link for node in state.nodes.values() for link in (node.link, node.inbound)]
    return [link for link in both if link is not None and link.is_open]


def info_text(state: ClusterState) -> str:
    """CLUSTER INFO."""
    assigned, ok, suspected, failed = state.slot_counts()
    values: list[tuple[str, object]] = [
        ("cluster_state", "ok" if state.is_ok else "fail"),
        ("cluster_slots_assigned", assigned),
        ("cluster_slots_ok", ok),
        ("cluster_slots_pfail", suspected),
        ("cluster_slots_fail", failed),
        ("cluster_known_nodes", len(state.nodes)),
        ("cluster_size", state.size),
        ("cluster_current_epoch", state.current_epoch),
        ("cluster_my_epoch", state.myself.leader.config_epoch),
        *_message_counts("sent", state.sent),
        *_message_counts("received", state.received),
        ("total_cluster_links_buffer_limit_exceeded", state.overfull_links),
    ]
    return "".join(f"{name}:{value}\r\n" for name, value in values)


def _message_counts(direction: str, counts: list[int]) -> list[tuple[str, object]]:
    named = [
        (f"cluster_stats_messages_{name}_{direction}", count)
        for name, count in zip(TYPE_NAMES, counts, strict=True)
        if count
    ]
    return [*named, (f"cluster_stats_messages_{direction}", sum(counts))]
