"""HIMPORT: many hashes with the same fields, which are named once.

A fieldset belongs to a connection, until that is reset or closed. The hashes are plain ones and are
propagated without the fieldset.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, LOADING, STALE, WRITE, command, one_key
from commands.documentation import help_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.hashes import HashValue


class Fieldsets:
    """The fieldsets of a client: names of fields, whose values HIMPORT SET then sets."""

    def __init__(self) -> None:
        self.by_name: dict[bytes, list[bytes]] = {}


@command("HIMPORT PREPARE", arity=-4, flags=FAST)
def himport_prepare(client: Client, argv: Request) -> bytes:
    """OK; a fieldset of the same name is replaced. Source: Redis 8.10."""
    names = argv[3:]
    if len(set(names)) != len(names):
        raise ReplyError(errors.DUPLICATE_FIELD)
    client.feature(Fieldsets).by_name[argv[2]] = names
    return replies.OK


@command(
    "HIMPORT SET", arity=-5, flags=WRITE | DENYOOM | FAST, keys=one_key(b"OW", b"UPDATE", at=2)
)
def himport_set(client: Client, argv: Request) -> bytes:
    """OK; a hash that was there is replaced, with its times. Source: Redis 8.10."""
    key, values = argv[2], argv[4:]
    names = client.feature(Fieldsets).by_name.get(argv[3])
    if names is None:
        raise ReplyError(errors.NO_SUCH_FIELDSET)
    if len(names) != len(values):
        raise ReplyError(errors.FIELDSET_MISMATCH)
    old = client.lookup_typed_for_write(key, HashValue)
    value = HashValue()
    words = [word for pair in zip(names, values, strict=True) for word in pair]
    value.update(words, client.instance.encoding_limits)
    client.db.persist(key)
    client.store(key, value)
    client.modified(key, len(names))
    client.notify_fields(b"hset", key, names)
    if old is not None:
        client.propagate(b"DEL", key)
    client.propagate(b"HSET", key, *words)
    return replies.OK


@command("HIMPORT DISCARD", arity=3, flags=FAST)
def himport_discard(client: Client, argv: Request) -> bytes:
    """Integer: 1 if there was one. Source: Redis 8.10."""
    names = client.feature(Fieldsets).by_name.pop(argv[2], None)
    return replies.ZERO if names is None else replies.ONE


@command("HIMPORT DISCARDALL", arity=2, flags=FAST)
def himport_discardall(client: Client, argv: Request) -> bytes:
    """Integer: how many there were. Source: Redis 8.10."""
    count = len(client.feature(Fieldsets).by_name)
    client.end_feature(Fieldsets)
    return replies.integer(count)


@command("HIMPORT HELP", arity=2, flags=LOADING | STALE)
def himport_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings."""
    return help_reply(
        b"HIMPORT",
        b"PREPARE <fieldset-name> <field> [<field> ...]",
        b"    Name the fields of hashes that this connection is going to set.",
        b"SET <key> <fieldset-name> <value> [<value> ...]",
        b"    Set a hash that has the fields of <fieldset-name>.",
        b"DISCARD <fieldset-name>",
        b"    Forget a fieldset.",
        b"DISCARDALL",
        b"    Forget all fieldsets of this connection.",
    )
