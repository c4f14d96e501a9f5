"""Nodes of the cluster as this one knows them, their links, and sets of slots.

A set of slots is an int with one bit for each: bit s is slot s, as in the bitmaps of the bus. Two
are compared by XOR, in a microsecond; only what differs is looped over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from protocol.records import entity
from protocol.request import SLOT_COUNT

ID_LENGTH = 40
HEX_DIGITS = frozenset("0123456789abcdef")
ALL_SLOTS = (1 << SLOT_COUNT) - 1

# The flags of a node, as on the bus.
PRIMARY = 1
REPLICA = 2
PFAIL = 4
FAIL = 8
MYSELF = 16
HANDSHAKE = 32
NO_ADDRESS = 64
MEET = 128
MIGRATE_TO = 256  # a primary that has had replicas: others may become its replicas
NO_FAILOVER = 512
KNOWS_EXTENSIONS = 1024

# As NODES and nodes.conf show them, in this order.
FLAG_NAMES = (
    (MYSELF, "myself"),
    (PRIMARY, "master"),
    (REPLICA, "slave"),
    (PFAIL, "fail?"),
    (FAIL, "fail"),
    (HANDSHAKE, "handshake"),
    (NO_ADDRESS, "noaddr"),
    (NO_FAILOVER, "nofailover"),
)


@entity
class Link:
    """A TCP connection of the bus. The one that the node dials, or that a peer has dialled.

    `transport` belongs to the I/O layer. `peer_ip` and `local_ip` are the addresses of the socket,
    which the I/O layer sets on links that it accepts.
    """

    node: Node | None = None
    is_inbound: bool = False
    is_open: bool = False
    created_ms: int = 0
    peer_ip: str = ""
    local_ip: str = ""
    transport: object = None


@entity
class Node:
    """A node. Times are monotonic, in ms, 0 for never; `ping_sent_ms` is 0 if no ping is pending.

    `port` is what clients connect to: with `tls-cluster` the TLS port, else the plain one.
    `second_port` is the other of the two, 0 for none.
    """

    id: str
    flags: int
    created_ms: int = 0
    ip: str = ""
    port: int = 0
    second_port: int = 0
    bus_port: int = 0
    hostname: str = ""
    human_name: str = ""
    shard_id: str = ""
    config_epoch: int = 0
    slots: int = 0
    primary: Node | None = None
    replicas: list[Node] = field(default_factory=list)
    offset: int = 0
    ping_sent_ms: int = 0
    pong_received_ms: int = 0
    data_received_ms: int = 0
    fail_ms: int = 0
    voted_ms: int | None = None  # when this node last voted for a replica of that one
    orphaned_ms: int = 0  # since when it has no working replica
    link: Link | None = None
    inbound: Link | None = None
    reports: dict[str, int] = field(default_factory=dict)  # failure reports: who, and when

    def swap_ports(self) -> None:
        """`tls-cluster` was switched: what was the second port is the first."""
        self.port, self.second_port = self.second_port, self.port

    @property
    def is_primary(self) -> bool:
        return bool(self.flags & PRIMARY)

    @property
    def is_replica(self) -> bool:
        return bool(self.flags & REPLICA)

    @property
    def is_failed(self) -> bool:
        """FAIL: a majority agrees."""
        return bool(self.flags & FAIL)

    @property
    def is_suspected(self) -> bool:
        """PFAIL: only this node says so."""
        return bool(self.flags & PFAIL)

    @property
    def is_reachable(self) -> bool:
        return not self.flags & (FAIL | PFAIL)

    @property
    def in_handshake(self) -> bool:
        return bool(self.flags & HANDSHAKE)

    @property
    def leader(self) -> Node:
        """The primary of its shard, as far as it is known."""
        return self.primary if self.primary is not None else self

    @property
    def is_linked(self) -> bool:
        """Whether the link that this node has dialled is open."""
        return self.link is not None and self.link.is_open

    def flag_names(self) -> str:
        names = [name for flag, name in FLAG_NAMES if self.flags & flag]
        return ",".join(names) or "noflags"

    def reports_at(self, monotonic_ms: int, valid_ms: int) -> int:
        """The number of failure reports that are still valid; the others are removed."""
        for reporter, time_ms in list(self.reports.items()):
            if monotonic_ms - time_ms > valid_ms:
                del self.reports[reporter]
        return len(self.reports)


def is_node_id(text: str) -> bool:
    return len(text) == ID_LENGTH and HEX_DIGITS.issuperset(text)


def slot_ranges(slots: int) -> Iterator[tuple[int, int]]:
    """The ranges of a set of slots, first and last of each, in order."""
    start = 0
    while slots:
        gap = (slots & -slots).bit_length() - 1
        slots >>= gap
        length = (~slots & (slots + 1)).bit_length() - 1
        start += gap
        yield start, start + length - 1
        slots >>= length
        start += length


def each_slot(slots: int) -> Iterator[int]:
    """The members of a set of slots, in order."""
    for first, last in slot_ranges(slots):
        yield from range(first, last + 1)


def range_of_slots(first: int, last: int) -> int:
    """The set of the slots from the first to the last."""
    return (1 << (last + 1)) - (1 << first)


def slots_text(slots: int) -> str:
    """As NODES shows them: `0-5460 5462`."""
    return " ".join(
        str(first) if first == last else f"{first}-{last}" for first, last in slot_ranges(slots)
    )
