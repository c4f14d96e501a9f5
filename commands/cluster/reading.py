"""CLUSTER, the sub-commands that show what this node knows.

Source: Redis 7.0.15 and 8.2.
"""

from __future__ import annotations

from commands.cluster.mode import Peer, ShardMember, SlotRange, node_of
from commands.cluster.routing import endpoint_of
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import ADMIN, LOADING, STALE, command
from commands.documentation import help_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import SLOT_COUNT, Request, key_slot
from storage.keyspace.database import SlotIndex


@command("CLUSTER MYID", arity=2, flags=STALE)
def cluster_myid(client: Client, argv: Request) -> bytes:
    """Bulk string: the ID of this node. Source: Redis 7.0."""
    return replies.bulk(node_of(client).myself.id.encode())


@command("CLUSTER MYSHARDID", arity=2, flags=STALE)
def cluster_myshardid(client: Client, argv: Request) -> bytes:
    """Bulk string: the ID of this node's shard. Source: Redis 7.2."""
    return replies.bulk(node_of(client).myself.shard_id.encode())


@command("CLUSTER INFO", arity=2, flags=STALE)
def cluster_info(client: Client, argv: Request) -> bytes:
    """Lines `field:value`. Source: Redis 8.2."""
    return replies.verbatim(node_of(client).info_text().encode(), client.resp)


@command("CLUSTER NODES", arity=2, flags=STALE)
def cluster_nodes(client: Client, argv: Request) -> bytes:
    """A line for each node that is known. Source: Redis 8.2."""
    text = node_of(client).nodes_text(client.connection.is_encrypted())
    return replies.verbatim(text.encode(), client.resp)


@command("CLUSTER REPLICAS", arity=3, flags=ADMIN | STALE)
def cluster_replicas(client: Client, argv: Request) -> bytes:
    """The lines of a primary's replicas. Source: Redis 7.0."""
    return _replicas(client, argv[2])


@command("CLUSTER SLAVES", arity=3, flags=ADMIN | STALE)
def cluster_slaves(client: Client, argv: Request) -> bytes:
    """As CLUSTER REPLICAS. Source: Redis 7.0."""
    return _replicas(client, argv[2])


def _replicas(client: Client, node_id: bytes) -> bytes:
    lines = node_of(client).replica_lines(node_id, client.connection.is_encrypted())
    return replies.bulk_array([line.encode() for line in lines])


@command("CLUSTER COUNT-FAILURE-REPORTS", arity=3, flags=ADMIN | STALE)
def cluster_count_failure_reports(client: Client, argv: Request) -> bytes:
    """Integer: how many primaries report a node as failed. Source: Redis 7.0."""
    monotonic_ms = client.instance.monotonic_ms
    return replies.integer(node_of(client).count_failure_reports(argv[2], monotonic_ms))


# -- slots -------------------------------------------------------------------------------------


@command("CLUSTER KEYSLOT", arity=3, flags=STALE)
def cluster_keyslot(client: Client, argv: Request) -> bytes:
    """Integer: the slot of a key. Source: Redis 7.0."""
    node_of(client)
    return replies.integer(key_slot(argv[2]))


@command("CLUSTER COUNTKEYSINSLOT", arity=3, flags=STALE)
def cluster_countkeysinslot(client: Client, argv: Request) -> bytes:
    """Integer: the number of keys of a slot that are here. Source: Redis 7.0."""
    index = _index(client)
    slot = parse_int(argv[2])
    if not 0 <= slot < SLOT_COUNT:
        raise ReplyError(errors.INVALID_SLOT)
    return replies.integer(index.count(slot))


@command("CLUSTER GETKEYSINSLOT", arity=4, flags=STALE)
def cluster_getkeysinslot(client: Client, argv: Request) -> bytes:
    """Array: up to that number of keys of a slot that are here. Source: Redis 7.0."""
    index = _index(client)
    slot, limit = parse_int(argv[2]), parse_int(argv[3])
    if not 0 <= slot < SLOT_COUNT or limit < 0:
        raise ReplyError(errors.INVALID_SLOT_OR_COUNT)
    return replies.bulk_array(index.first(slot, limit))


def _index(client: Client) -> SlotIndex:
    node_of(client)
    index = client.instance.databases[0].slots
    assert index is not None
    return index


@command("CLUSTER SLOTS", arity=2, flags=STALE | LOADING)
def cluster_slots(client: Client, argv: Request) -> bytes:
    """Array of ranges of slots: first, last, the primary, its replicas. Source: Redis 7.0."""
    return replies.array([_slot_range(client, each) for each in node_of(client).slot_ranges()])


def _slot_range(client: Client, found: SlotRange) -> bytes:
    nodes = [_endpoint(client, node) for node in (found.primary, *found.replicas)]
    return replies.array([replies.integer(found.first), replies.integer(found.last), *nodes])


def _endpoint(client: Client, node: Peer) -> bytes:
    """A node in CLUSTER SLOTS: endpoint, port, ID, and how else it can be reached."""
    preferred = client.instance.config.cluster_preferred_endpoint_type
    endpoint = endpoint_of(node, preferred)
    others = []
    if preferred != "ip":
        others += [b"ip", node.ip.encode()]
    if preferred != "hostname" and node.hostname:
        others += [b"hostname", node.hostname.encode()]
    return replies.array(
        [
            replies.bulk_or_nil(None if endpoint is None else endpoint.encode(), client.resp),
            replies.integer(node_of(client).client_port(node, client.connection.is_encrypted())),
            replies.bulk(node.id.encode()),
            replies.mapping([replies.bulk(word) for word in others], client.resp),
        ]
    )


@command("CLUSTER SHARDS", arity=2, flags=STALE | LOADING)
def cluster_shards(client: Client, argv: Request) -> bytes:
    """Array of shards: their ranges of slots, and their nodes. Source: Redis 7.0."""
    found = []
    for shard in node_of(client).shards():
        slots = [replies.integer(slot) for each in shard.ranges for slot in each]
        members = [_member(client, member) for member in shard.members]
        items = [
            *(replies.bulk(b"slots"), replies.array(slots)),
            *(replies.bulk(b"nodes"), replies.array(members)),
        ]
        found.append(replies.mapping(items, client.resp))
    return replies.array(found)


def _member(client: Client, member: ShardMember) -> bytes:
    node, config = member.node, client.instance.config
    endpoint = endpoint_of(node, config.cluster_preferred_endpoint_type)
    port, tls_port = node.port, node.second_port
    if config.tls_cluster:
        port, tls_port = tls_port, port
    facts: dict[bytes, bytes | int | None] = {b"id": node.id.encode()}
    if port:
        facts[b"port"] = port
    if tls_port:
        facts[b"tls-port"] = tls_port
    facts[b"ip"] = node.ip.encode()
    facts[b"endpoint"] = (endpoint or "").encode()
    if node.hostname:
        facts[b"hostname"] = node.hostname.encode()
    facts[b"role"] = member.role.encode()
    facts[b"replication-offset"] = member.offset
    facts[b"health"] = member.health.encode()
    return _mapping(client, facts)


@command("CLUSTER LINKS", arity=2, flags=STALE)
def cluster_links(client: Client, argv: Request) -> bytes:
    """Array of the connections of the bus: node, direction, age and buffers. Source: Redis 7.0."""
    return replies.array(
        [
            _mapping(
                client,
                {
                    b"direction": b"from" if link.is_inbound else b"to",
                    b"node": link.node.id.encode() if link.node is not None else b"",
                    b"create-time": link.created_ms,
                    b"events": b"r",
                    b"send-buffer-allocated": 0,
                    b"send-buffer-used": 0,
                },
            )
            for link in node_of(client).links()
        ]
    )


def _mapping(client: Client, facts: dict[bytes, bytes | int | None]) -> bytes:
    items = []
    for name, value in facts.items():
        items.append(replies.bulk(name))
        if isinstance(value, int):
            items.append(replies.integer(value))
        else:
            items.append(replies.bulk_or_nil(value, client.resp))
    return replies.mapping(items, client.resp)


@command("CLUSTER HELP", arity=2, flags=STALE | LOADING)
def cluster_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.0."""
    node_of(client)
    return help_reply(
        b"CLUSTER",
        b"COUNTKEYSINSLOT <slot>",
        b"    Return the number of keys in <slot>.",
        b"GETKEYSINSLOT <slot> <count>",
        b"    Return up to <count> keys of <slot>.",
        b"INFO",
        b"    Return the state of the cluster as this node sees it.",
        b"KEYSLOT <key>",
        b"    Return the slot of <key>.",
        b"LINKS",
        b"    Return the connections of the bus.",
        b"MYID",
        b"    Return the ID of this node.",
        b"MYSHARDID",
        b"    Return the ID of the shard of this node.",
        b"NODES",
        b"    Return a line for each node that is known.",
        b"REPLICAS <node-id>",
        b"    Return the lines of the replicas of a primary.",
        b"SHARDS",
        b"    Return the shards, with their slots and nodes.",
        b"SLOTS",
        b"    Return the ranges of slots, with their nodes.",
    )
