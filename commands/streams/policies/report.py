"""XINFO POLICY: the policies of a stream or of a group, and what they have done.

The other sub-commands of XINFO keep to Redis's fields, because typed clients fail on unknown ones.
A feature adds its fields:

    STREAM_FIELDS.append(function)      # (client, key, stream) -> names and values
    GROUP_FIELDS.append(function)       # (client, key, stream, group) -> names and values

Names are those of the options, in lower case. Values are whole numbers, texts, lists of whole
numbers, or None, which is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from commands.core.client import Client
from commands.core.registry import READONLY, command, one_key
from commands.streams.lookup import group_of
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.groups.group import Group
from storage.stream import Stream

Value: TypeAlias = "int | bytes | list[int] | None"
Fields: TypeAlias = "Iterator[tuple[str, Value]]"

STREAM_FIELDS: list[Callable[[Client, bytes, Stream], Fields]] = []
GROUP_FIELDS: list[Callable[[Client, bytes, Stream, Group], Fields]] = []


@command("XINFO POLICY", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS", at=2))
def xinfo_policy(client: Client, argv: Request) -> bytes:
    """Map; empty without a policy. Rillway's own."""
    if len(argv) > 4:
        raise errors.subcommand_syntax(b"XINFO", argv[1])
    key = argv[2]
    stream: Stream | None = client.lookup_stream(key)
    if stream is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    items: list[bytes] = []
    if len(argv) == 4:
        group = group_of(stream, key, argv[3])
        found = [pair for fields in GROUP_FIELDS for pair in fields(client, key, stream, group)]
    else:
        found = [pair for fields in STREAM_FIELDS for pair in fields(client, key, stream)]
    for name, value in found:
        if value is not None:
            items += (replies.bulk(name.encode()), _encoded(value))
    return replies.mapping(items, client.resp)


def _encoded(value: int | bytes | list[int]) -> bytes:
    if isinstance(value, bytes):
        return replies.bulk(value)
    if isinstance(value, int):
        return replies.integer(value)
    return replies.array([replies.integer(number) for number in value])


def _journal_fields(client: Client, key: bytes, stream: Stream) -> Fields:
    journal = stream.ack_journal
    if journal is not None:
        yield "ack-journal", journal.key
        yield "ack-journal-maxlen", journal.max_length
        yield "ack-journal-skipped", journal.skipped


def _group_fields(client: Client, key: bytes, stream: Stream) -> Fields:
    if stream.policy is not None:
        count = sum(group.policy is not None for group in stream.groups.values())
        yield "groups-with-policy", count or None


STREAM_FIELDS += [_journal_fields, _group_fields]
