"""PUBLISH, SPUBLISH, and PUBSUB, which reports subscriptions.

Source: Redis 7.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.cluster.mode import ClusterMode
from commands.core.client import Client
from commands.core.documentation import help_reply
from commands.core.registry import (
    FAST,
    LOADING,
    MAY_REPLICATE,
    PUBSUB,
    STALE,
    KeySpec,
    command,
    container,
)
from commands.core.services import Services
from commands.keys.pattern import matches
from commands.pubsub.registry import PubSub, Subscriptions
from protocol import errors, replies
from protocol.request import Request


@command("PUBLISH", arity=3, flags=PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE)
def publish(client: Client, argv: Request) -> bytes:
    """Integer: the number of deliveries, one per matching subscription. Source: Redis 7.2."""
    _tell_others(client, argv, is_sharded=False)
    return replies.integer(client.instance.feature(PubSub).publish(argv[1], argv[2]))


@command(
    "SPUBLISH",
    arity=3,
    flags=PUBSUB | LOADING | STALE | FAST | MAY_REPLICATE,
    keys=(KeySpec(begin=1, flags=(b"not_key",)),),
)
def spublish(client: Client, argv: Request) -> bytes:
    """Integer: the number of clients that received the message. Source: Redis 7.2."""
    _tell_others(client, argv, is_sharded=True)
    return replies.integer(client.instance.feature(PubSub).publish_to_shard(argv[1], argv[2]))


def _tell_others(client: Client, argv: Request, *, is_sharded: bool) -> None:
    """Send a message to the replicas, or to the other nodes of the cluster, or of the shard."""
    node = client.instance.feature(ClusterMode).node
    if node is None:
        client.instance.feature(Services).dispatcher.propagate_message(argv.words())
    else:
        node.publish(argv[1], argv[2], is_sharded)


container("PUBSUB")


@command("PUBSUB CHANNELS", arity=-2, flags=PUBSUB | LOADING | STALE)
def pubsub_channels(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _names(client.instance.feature(PubSub).channels, argv)


@command("PUBSUB SHARDCHANNELS", arity=-2, flags=PUBSUB | LOADING | STALE)
def pubsub_shardchannels(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _names(client.instance.feature(PubSub).shard_channels, argv)


@command("PUBSUB NUMSUB", arity=-2, flags=PUBSUB | LOADING | STALE)
def pubsub_numsub(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _counts(client.instance.feature(PubSub).channels, argv[2:])


@command("PUBSUB SHARDNUMSUB", arity=-2, flags=PUBSUB | LOADING | STALE)
def pubsub_shardnumsub(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _counts(client.instance.feature(PubSub).shard_channels, argv[2:])


@command("PUBSUB NUMPAT", arity=2, flags=PUBSUB | LOADING | STALE)
def pubsub_numpat(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return replies.integer(len(client.instance.feature(PubSub).patterns))


@command("PUBSUB HELP", arity=2, flags=LOADING | STALE)
def pubsub_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, in words of our own."""
    return help_reply(
        b"PUBSUB",
        b"CHANNELS [<pattern>]",
        b"    List the channels with subscribers, all or those that match.",
        b"NUMPAT",
        b"    Return the number of different patterns with subscribers.",
        b"NUMSUB [<channel> ...]",
        b"    Tell for each channel how many clients are subscribed to it by its name.",
        b"SHARDCHANNELS [<pattern>]",
        b"    List the shard channels with subscribers, all or those that match.",
        b"SHARDNUMSUB [<shardchannel> ...]",
        b"    Tell for each shard channel how many clients are subscribed to it.",
    )


def _names(table: Subscriptions, argv: Request) -> bytes:
    """The names that have subscribers; of those that match, if a pattern is given."""
    if len(argv) > 3:
        raise errors.subcommand_syntax(argv[0], argv[1])
    names: Iterable[bytes] = table.by_name
    if len(argv) == 3:
        names = (name for name in names if matches(argv[2], name))
    return replies.bulk_array(list(names))


def _counts(table: Subscriptions, names: list[bytes]) -> bytes:
    """Names and numbers in turn: a flat array in RESP3 too."""
    items = []
    for name in names:
        items += [replies.bulk(name), replies.integer(table.count(name))]
    return replies.array(items)
