"""CLUSTER, the sub-commands that change this node, or what it announces to other nodes.

What a change means for slots and epochs is in server/cluster/operations.py; other nodes hear of it
over the bus at the end of the event loop's cycle.

Source: Redis 7.0.15 and 8.2.
"""

from __future__ import annotations

import commands.cluster.reading  # noqa: F401  (declares the container)
from commands.cluster.mode import ClusterMode, node_of
from commands.core.client import Client
from commands.core.registry import ADMIN, NO_ASYNC_LOADING, NOSCRIPT, STALE, command
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_FLAGS = NO_ASYNC_LOADING | ADMIN | STALE


def _changed(client: Client) -> bytes:
    client.instance.feature(ClusterMode).refresh()
    return replies.OK


def _syntax(argv: Request) -> ReplyError:
    return errors.subcommand_syntax(b"CLUSTER", argv[1])


# -- nodes -------------------------------------------------------------------------------------


@command("CLUSTER MEET", arity=-4, flags=_FLAGS)
def cluster_meet(client: Client, argv: Request) -> bytes:
    """OK as soon as the handshake with the node at that address has begun. Source: Redis 8.2."""
    node = node_of(client)
    if len(argv) > 5:
        raise _syntax(argv)
    bus_port = argv[4] if len(argv) == 5 else None
    node.meet(argv[2], argv[3], bus_port, client.instance.monotonic_ms)
    return _changed(client)


@command("CLUSTER FORGET", arity=3, flags=_FLAGS)
def cluster_forget(client: Client, argv: Request) -> bytes:
    """Remove a node, and ignore for a minute what others say of it. Source: Redis 7.2."""
    node_of(client).forget(argv[2], client.instance.monotonic_ms)
    return _changed(client)


@command("CLUSTER REPLICATE", arity=3, flags=_FLAGS)
def cluster_replicate(client: Client, argv: Request) -> bytes:
    """Become a replica of a primary. Source: Redis 7.0."""
    node_of(client).replicate(argv[2])
    return _changed(client)


@command("CLUSTER RESET", arity=-2, flags=ADMIN | STALE | NOSCRIPT)
def cluster_reset(client: Client, argv: Request) -> bytes:
    """Forget the cluster; HARD also takes a new ID. Source: Redis 7.0."""
    node, how = node_of(client), argv[2].upper() if len(argv) > 2 else b"SOFT"
    if len(argv) > 3:
        raise _syntax(argv)
    if how not in (b"SOFT", b"HARD"):
        raise ReplyError(errors.SYNTAX)
    node.reset(how == b"HARD")
    return _changed(client)


@command("CLUSTER FAILOVER", arity=-2, flags=_FLAGS)
def cluster_failover(client: Client, argv: Request) -> bytes:
    """OK as soon as it has begun; on a replica. Source: Redis 7.0."""
    node, mode = node_of(client), argv[2].upper() if len(argv) > 2 else b""
    if len(argv) > 3:
        raise _syntax(argv)
    if mode not in (b"", b"FORCE", b"TAKEOVER"):
        raise ReplyError(errors.SYNTAX)
    node.fail_over(mode, client.instance.monotonic_ms)
    return _changed(client)


@command("CLUSTER SAVECONFIG", arity=2, flags=_FLAGS)
def cluster_saveconfig(client: Client, argv: Request) -> bytes:
    """Write nodes.conf. Source: Redis 7.0."""
    node_of(client).save_config()
    return replies.OK


# -- epochs ------------------------------------------------------------------------------------


@command("CLUSTER BUMPEPOCH", arity=2, flags=_FLAGS)
def cluster_bumpepoch(client: Client, argv: Request) -> bytes:
    """BUMPED or STILL, and the epoch. Source: Redis 7.0."""
    has_changed, epoch = node_of(client).bump_epoch()
    return replies.simple(b"%b %d" % (b"BUMPED" if has_changed else b"STILL", epoch))


@command("CLUSTER SET-CONFIG-EPOCH", arity=3, flags=_FLAGS)
def cluster_set_config_epoch(client: Client, argv: Request) -> bytes:
    """Give a node that knows no other its first epoch. Source: Redis 7.0."""
    node_of(client).set_config_epoch(argv[2])
    return replies.OK


# -- slots -------------------------------------------------------------------------------------


@command("CLUSTER ADDSLOTS", arity=-3, flags=_FLAGS)
def cluster_addslots(client: Client, argv: Request) -> bytes:
    """Take slots that have no owner, all or none. Source: Redis 7.0."""
    node_of(client).add_slots(argv[2:])
    return _changed(client)


@command("CLUSTER ADDSLOTSRANGE", arity=-4, flags=_FLAGS)
def cluster_addslotsrange(client: Client, argv: Request) -> bytes:
    """As ADDSLOTS, with the first and the last slot of each range. Source: Redis 7.0."""
    node = node_of(client)
    _check_pairs(argv, b"cluster|addslotsrange")
    node.add_slots_range(argv[2:])
    return _changed(client)


@command("CLUSTER DELSLOTS", arity=-3, flags=_FLAGS)
def cluster_delslots(client: Client, argv: Request) -> bytes:
    """Leave slots without owner, as far as this node knows. Source: Redis 7.0."""
    node_of(client).del_slots(argv[2:])
    return _changed(client)


@command("CLUSTER DELSLOTSRANGE", arity=-4, flags=_FLAGS)
def cluster_delslotsrange(client: Client, argv: Request) -> bytes:
    """As DELSLOTS, with the first and the last slot of each range. Source: Redis 7.0."""
    node = node_of(client)
    _check_pairs(argv, b"cluster|delslotsrange")
    node.del_slots_range(argv[2:])
    return _changed(client)


def _check_pairs(argv: Request, fullname: bytes) -> None:
    if len(argv) % 2:
        raise errors.wrong_arity(fullname)


@command("CLUSTER FLUSHSLOTS", arity=2, flags=_FLAGS)
def cluster_flushslots(client: Client, argv: Request) -> bytes:
    """Leave all slots of this node without owner. Source: Redis 7.0."""
    node_of(client).flush_slots()
    return _changed(client)


@command("CLUSTER SETSLOT", arity=-4, flags=_FLAGS)
def cluster_setslot(client: Client, argv: Request) -> bytes:
    """A step of moving a slot: MIGRATING, IMPORTING, NODE, STABLE. Source: Redis 7.0."""
    node, action, words = node_of(client), argv[3].upper(), len(argv)
    if action == b"MIGRATING" and words == 5:
        node.set_slot_migrating(argv[2], argv[4])
    elif action == b"IMPORTING" and words == 5:
        node.set_slot_importing(argv[2], argv[4])
    elif action == b"STABLE" and words == 4:
        node.set_slot_stable(argv[2])
    elif action == b"NODE" and words == 5:
        node.set_slot_node(argv[2], argv[4])
    else:
        node.check_set_slot(argv[2])
        raise ReplyError(errors.SETSLOT_ACTION)
    return _changed(client)
