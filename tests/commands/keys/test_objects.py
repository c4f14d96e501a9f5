"""commands/keys/objects.py: what a key takes in memory.

OBJECT.
"""

from __future__ import annotations

import pytest

from commands.keys.objects import value_bytes
from storage.stream import Stream
from storage.types.value import StringValue
from tests.commands.keys.conversation import NIL, Conversation


def test_key_and_value_both_count() -> None:
    value = StringValue(b"v")
    size = value_bytes(b"k", value)
    assert value_bytes(b"k" * 161, value) == size + 160
    assert value_bytes(b"k", StringValue(b"v" * 161)) == size + 160


def test_entries_of_a_stream_count() -> None:
    stream = Stream()
    empty = value_bytes(b"s", stream)
    for i in range(30_000):
        stream.append(i + 1 << 64, [b"field", b"%010d" % i], 100, 4096)
    assert empty + 30_000 < value_bytes(b"s", stream) < empty + 30_000 * 50


@pytest.mark.parametrize(
    ("request_", "encoding"),
    [
        ("SET k 12", "int"),
        ("SET k 012", "embstr"),
        ("SET k " + "x" * 45, "raw"),
        ("APPEND k 12", "int"),
        ("SETRANGE k 0 12", "raw"),
        ("INCR k", "int"),
        ("INCRBYFLOAT k 12", "embstr"),
        ("XADD k 1-1 f v", "stream"),
    ],
)
def test_the_encoding_depends_on_how_a_value_was_created(
    talk: Conversation, request_: str, encoding: str
) -> None:
    talk.all(request_)
    assert talk.do("OBJECT ENCODING k") == b"$%d\r\n%b\r\n" % (len(encoding), encoding.encode())


def test_no_keys_share_a_value(talk: Conversation) -> None:
    talk.all("SET k 1")
    assert talk.do("OBJECT REFCOUNT k") == b":1\r\n"


def test_the_idle_time_grows_by_whole_seconds_until_the_key_is_used(talk: Conversation) -> None:
    talk.all("SET k v")
    talk.server.now_ms += 2999
    assert talk.do("OBJECT IDLETIME k") == b":2\r\n"
    talk.all("GET k")
    assert talk.do("OBJECT IDLETIME k") == b":0\r\n"


def test_there_is_no_frequency_without_a_policy_that_counts_it(talk: Conversation) -> None:
    talk.all("SET k v")
    assert talk.do("OBJECT FREQ k").startswith(b"-ERR An LFU maxmemory policy is not selected,")


@pytest.mark.parametrize("sub", ["ENCODING", "REFCOUNT", "IDLETIME", "FREQ"])
def test_a_key_that_is_not_there_is_null_and_no_miss_event(talk: Conversation, sub: str) -> None:
    assert talk.do(f"OBJECT {sub} none") == NIL
    assert talk.events() == []


def test_help_names_every_subcommand(talk: Conversation) -> None:
    lines = talk.do("OBJECT HELP").split(b"\r\n")
    assert lines[0] == b"*%d" % (len(lines) - 2)
    assert lines[1] == b"+OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    subcommands = [line for line in lines[2:] if line.startswith(b"+") and line[1:2] != b" "]
    assert subcommands == [
        b"+ENCODING <key>",
        b"+FREQ <key>",
        b"+IDLETIME <key>",
        b"+REFCOUNT <key>",
        b"+HELP",
    ]


def test_an_unknown_subcommand_is_refused(talk: Conversation) -> None:
    assert talk.do("OBJECT FOO k") == b"-ERR unknown subcommand 'FOO'. Try OBJECT HELP.\r\n"
