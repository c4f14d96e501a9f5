"""SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their opposites; PUBSUB.

PUBLISH and SPUBLISH are in commands/pubsub/registry.py, which is compiled.

A subscription is answered with one message per name, not with one reply: in RESP3 pushes, in RESP2
arrays that look the same. Shard channels are counted apart from channels and patterns.

Source: Redis 7.2.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client
from commands.core.gates import GATE_SILENT
from commands.core.registry import LOADING, NOSCRIPT, PUBSUB, STALE, KeySpec, command
from commands.documentation import help_reply
from commands.keys.pattern import matches
from commands.pubsub.registry import PubSub, Subscriptions
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.request import Request

_FLAGS = PUBSUB | NOSCRIPT | LOADING | STALE
# Redis declares shard channels as keys, so that a cluster can route them.
_SHARD_CHANNELS = (KeySpec(begin=1, last=-1, flags=(b"not_key",)),)


@frozen_record
class _Kind:
    """One of the three kinds of subscription, each with its pair of commands."""

    prefix: bytes  # of "subscribe" and "unsubscribe" in the messages
    table_of: Callable[[PubSub], Subscriptions]
    count_of: Callable[[Client], int]  # the number at the end of each message


def _count_channels_and_patterns(client: Client) -> int:
    pubsub = client.instance.feature(PubSub)
    return pubsub.channels.count_of(client) + pubsub.patterns.count_of(client)


_CHANNEL = _Kind(b"", lambda pubsub: pubsub.channels, _count_channels_and_patterns)
_PATTERN = _Kind(b"p", lambda pubsub: pubsub.patterns, _count_channels_and_patterns)
_SHARD = _Kind(
    b"s",
    lambda pubsub: pubsub.shard_channels,
    lambda client: client.instance.feature(PubSub).shard_channels.count_of(client),
)


def _subscribe(client: Client, kind: _Kind, names: list[bytes]) -> bytes:
    table = kind.table_of(client.instance.feature(PubSub))
    messages = []
    for name in names:
        table.add(client, name)
        messages.append(_message(client, kind, b"subscribe", name))
    return _answer(client, messages)


def _unsubscribe(client: Client, kind: _Kind, names: list[bytes]) -> bytes:
    """Without names: from all of the kind; if there are none, one message with a null name."""
    table = kind.table_of(client.instance.feature(PubSub))
    messages = []
    for name in names or table.names_of(client):
        table.remove(client, name)
        messages.append(_message(client, kind, b"unsubscribe", name))
    if not messages:
        messages.append(_message(client, kind, b"unsubscribe", None))
    return _answer(client, messages)


def _message(client: Client, kind: _Kind, word: bytes, name: bytes | None) -> bytes:
    return (
        replies.push_header(3, client.resp)
        + replies.bulk(kind.prefix + word)
        + replies.bulk_or_nil(name, client.resp)
        + replies.integer(kind.count_of(client))
    )


def _answer(client: Client, messages: list[bytes]) -> bytes:
    """The messages as a reply; as pushes, where CLIENT REPLY would hold a reply back."""
    wire = b"".join(messages)
    if client.gates & GATE_SILENT and not client.deny_blocking:
        client.send(wire)
        return b""
    return wire


@command("SUBSCRIBE", arity=-2, flags=_FLAGS)
def subscribe(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _subscribe(client, _CHANNEL, argv[1:])


@command("UNSUBSCRIBE", arity=-1, flags=_FLAGS)
def unsubscribe(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _unsubscribe(client, _CHANNEL, argv[1:])


@command("PSUBSCRIBE", arity=-2, flags=_FLAGS)
def psubscribe(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _subscribe(client, _PATTERN, argv[1:])


@command("PUNSUBSCRIBE", arity=-1, flags=_FLAGS)
def punsubscribe(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _unsubscribe(client, _PATTERN, argv[1:])


@command("SSUBSCRIBE", arity=-2, flags=_FLAGS, keys=_SHARD_CHANNELS)
def ssubscribe(client: Client, argv: Request) -> bytes:
    """Unlike SUBSCRIBE, refused inside a transaction, where nothing may wait. Source: Redis 7.2."""
    if client.deny_blocking:
        raise ReplyError(errors.SSUBSCRIBE_DENIED)
    return _subscribe(client, _SHARD, argv[1:])


@command("SUNSUBSCRIBE", arity=-1, flags=_FLAGS, keys=_SHARD_CHANNELS)
def sunsubscribe(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return _unsubscribe(client, _SHARD, argv[1:])


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
    names = list(table.by_name)
    if len(argv) == 3:
        names = [name for name in names if matches(argv[2], name)]
    return replies.bulk_array(names)


def _counts(table: Subscriptions, names: list[bytes]) -> bytes:
    """Names and numbers in turn: a flat array in RESP3 too."""
    items = []
    for name in names:
        items += [replies.bulk(name), replies.integer(table.count(name))]
    return replies.array(items)
