"""The text of nodes.conf, and the lines of CLUSTER NODES, which are the same: one for each node.

    <id> <address> <flags> <primary's id, or -> <ping sent> <pong received> <epoch> <link> <slots>

The address is `<ip>:<port>@<bus port>`, and a comma and the hostname if there is one. In the file
of Redis 7.2 and later the hostname is always there, perhaps empty, and after it `,<name>=<value>`:
the TLS port, the shard. Redis 7.0 takes all after the first comma for the hostname, and writes no
such values. Both dialects are read; which one is written is the caller's choice.

The last line of the file is `vars currentEpoch 5 lastVoteEpoch 3`.
"""

from __future__ import annotations

from protocol.request import SLOT_COUNT
from server.cluster.nodes import (
    FAIL,
    FLAG_NAMES,
    MYSELF,
    PRIMARY,
    REPLICA,
    Node,
    is_node_id,
    range_of_slots,
    slots_text,
)
from server.cluster.state import ClusterState

FLAGS_BY_NAME = {name: flag for flag, name in FLAG_NAMES} | {"noflags": 0}
FIELDS_BEFORE_SLOTS = 8


class BadConfig(Exception):
    """The text is no nodes.conf, or a damaged one: the server must not start with it."""


# -- to text -----------------------------------------------------------------------------------


def config_text(state: ClusterState, has_values: bool = True) -> str:
    """The contents of nodes.conf; without values as Redis 7.0 writes it."""
    nodes = [node for node in state.nodes.values() if not node.in_handshake]
    lines = [node_line(state, node, _saved_address(state, node, has_values)) for node in nodes]
    epochs = f"vars currentEpoch {state.current_epoch} lastVoteEpoch {state.last_vote_epoch}"
    return "".join(f"{line}\n" for line in (*lines, epochs))


def shown_line(state: ClusterState, node: Node, is_tls: bool) -> str:
    """The line of a node in CLUSTER NODES, for a client with TLS or without."""
    return node_line(state, node, _address(node, state.client_port(node, is_tls)))


def node_line(state: ClusterState, node: Node, address: str) -> str:
    is_connected = node.is_linked or node is state.myself
    fields = [
        node.id,
        address,
        node.flag_names(),
        node.primary.id if node.primary is not None else "-",
        str(state.unix_ms(node.ping_sent_ms)),
        str(state.unix_ms(node.pong_received_ms)),
        str(node.leader.config_epoch),
        "connected" if is_connected else "disconnected",
    ]
    if node.slots:
        fields.append(slots_text(node.slots))
    if node is state.myself:
        fields += [f"[{slot}->-{other.id}]" for slot, other in _by_slot(state.migrating)]
        fields += [f"[{slot}-<-{other.id}]" for slot, other in _by_slot(state.importing)]
    return " ".join(fields)


def _by_slot(marks: dict[int, Node]) -> list[tuple[int, Node]]:
    return sorted(marks.items(), key=lambda mark: mark[0])


def _saved_address(state: ClusterState, node: Node, has_values: bool) -> str:
    if not has_values:
        return _address(node, node.port)
    names = f",nodename={node.human_name}" if node.human_name else ""
    second = "tcp-port" if state.settings.tls_cluster else "tls-port"
    values = f"{names},{second}={node.second_port},shard-id={node.shard_id}"
    return f"{node.ip}:{node.port}@{node.bus_port},{node.hostname}{values}"


def _address(node: Node, port: int) -> str:
    address = f"{node.ip}:{port}@{node.bus_port}"
    return f"{address},{node.hostname}" if node.hostname else address


# -- from text ---------------------------------------------------------------------------------


def read_config(state: ClusterState, text: str, monotonic_ms: int) -> None:
    """Fill a new state from the text of nodes.conf. Raises BadConfig.

    Nodes that had answered count as heard of just now, so that they are not suspected at once.
    """
    state.nodes.clear()
    mine = 0
    for number, line in enumerate(text.split("\n"), 1):
        try:
            mine += _read_line(state, line.split(), monotonic_ms)
        except BadConfig as error:
            raise BadConfig(f"line {number}: {error}") from None
    if mine != 1:
        raise BadConfig(f"{mine or 'no'} lines have the flag `myself`")
    state.current_epoch = state.highest_epoch()
    state.had_slots = bool(state.myself.slots)
    for node in state.nodes.values():
        node.shard_id = node.leader.shard_id
    state.pending_actions.clear()


def _read_line(state: ClusterState, words: list[str], monotonic_ms: int) -> bool:
    """Take over a line; return whether it is the one of this node."""
    if not words:
        return False
    if words[0] == "vars":
        _read_epochs(state, words[1:])
        return False
    if len(words) < FIELDS_BEFORE_SLOTS:
        raise BadConfig(f"{len(words)} fields, which is too few")
    return _read_node(state, words, monotonic_ms)


def _read_epochs(state: ClusterState, words: list[str]) -> None:
    """Without them this node might vote twice: a part of them is not enough."""
    if len(words) % 2:
        raise BadConfig("a name without a value")
    for name, value in zip(words[::2], words[1::2], strict=True):
        if name == "currentEpoch":
            state.current_epoch = _number(value)
        elif name == "lastVoteEpoch":
            state.last_vote_epoch = _number(value)


def _read_node(state: ClusterState, words: list[str], monotonic_ms: int) -> bool:
    """Add the node of a line; return whether it is this one."""
    node = _node(state, words[0], monotonic_ms)
    _read_address(node, words[1], state.settings.tls_cluster)
    node.flags = _flags(words[2])
    if node.flags & FAIL:
        node.fail_ms = monotonic_ms
    if words[3] != "-":
        state.make_replica(node, _node(state, words[3], monotonic_ms))
    node.ping_sent_ms = monotonic_ms if _number(words[4]) else 0
    node.pong_received_ms = monotonic_ms if _number(words[5]) else 0
    node.config_epoch = 0 if node.is_replica else _number(words[6])
    if node.flags & MYSELF:
        state.myself = node
    for word in words[FIELDS_BEFORE_SLOTS:]:
        _read_slots(state, node, word, monotonic_ms)
    return bool(node.flags & MYSELF)


def _node(state: ClusterState, node_id: str, monotonic_ms: int) -> Node:
    """The node of that ID: a replica's line may come before its primary's."""
    if not is_node_id(node_id):
        raise BadConfig(f"not the ID of a node: {node_id}")
    return state.find(node_id) or state.new_node(node_id, 0, monotonic_ms)


def _flags(text: str) -> int:
    flags = 0
    for name in text.split(","):
        if name not in FLAGS_BY_NAME:
            raise BadConfig(f"unknown flag: {name}")
        flags |= FLAGS_BY_NAME[name]
    if bool(flags & PRIMARY) == bool(flags & REPLICA):
        raise BadConfig(f"either a master or a slave: {text}")
    return flags


def _read_address(node: Node, text: str, tls_cluster: bool) -> None:
    address, _, names = text.partition(",")
    place, _, bus_port = address.partition("@")
    ip, colon, port = place.rpartition(":")
    if not colon:
        raise BadConfig(f"not an address: {text}")
    node.ip, node.port = ip, _number(port)
    # Before Redis 4 there was no @, and only this bus port.
    node.bus_port = _number(bus_port) if bus_port else node.port + 10_000
    hostname, *values = names.split(",")
    node.hostname = hostname
    for value in values:
        _read_value(node, value, tls_cluster)


def _read_value(node: Node, text: str, tls_cluster: bool) -> None:
    name, _, value = text.partition("=")
    if name == "shard-id":
        node.shard_id = value
    elif name == "nodename":
        node.human_name = value
    elif name in ("tcp-port", "tls-port"):
        node.second_port = _number(value)
        if (name == "tls-port") == tls_cluster:  # `tls-cluster` was another then
            node.swap_ports()


def _read_slots(state: ClusterState, node: Node, word: str, monotonic_ms: int) -> None:
    """A slot, a range, or a mark of a slot that moves: `[77->-<id>]`, `[93-<-<id>]`."""
    if word.startswith("["):
        slot, _, rest = word.strip("[]").partition("-")
        marks = {">-": state.migrating, "<-": state.importing}.get(rest[:2])
        if marks is None:
            raise BadConfig(f"not a mark of a slot: {word}")
        marks[_slot(slot)] = _node(state, rest[2:], monotonic_ms)
        return
    first, _, last = word.partition("-")
    slots = range_of_slots(_slot(first), _slot(last or first))
    if slots <= 0:
        raise BadConfig(f"not a range of slots: {word}")
    state.set_owner(slots, node)


def _slot(text: str) -> int:
    slot = _number(text)
    if slot >= SLOT_COUNT:
        raise BadConfig(f"not a slot: {text}")
    return slot


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise BadConfig(f"not a number: {text}")
    return int(text)
