"""ACL categories of commands.

COMMAND, COMMAND COUNT, INFO, LIST, HELP.

COMMAND DOCS.

COMMAND GETKEYS and GETKEYSANDFLAGS. The replies are those of redis-server 7.0.15, but for the
keys of XREAD and XREADGROUP, which Redis 8.10 finds by parsing the request.
"""

from __future__ import annotations

from typing import Any

import pytest

import commands.catalogue  # noqa: F401
from commands.core.registry import COMMANDS, KeySpec
from commands.documentation import row_of
from commands.server.command import (
    acl_categories,
    all_commands,
    describe_keys,
    find_command,
    legacy_range,
)
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, pairs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get", "@read @string @fast"),
        ("set", "@write @string @slow"),
        ("eval_ro", "@scripting @slow"),
        ("wait", "@slow @blocking @connection"),
        ("config|set", "@admin @dangerous @slow"),
        ("config", "@slow"),
    ],
)
def test_categories_follow_from_flags_and_group(name: str, expected: str) -> None:
    command = find_command(name.encode(), COMMANDS)
    assert command is not None
    assert b" ".join(acl_categories(command)).decode() == expected


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


def described(client: InProcessClient, name: str) -> list[Any]:
    (found,) = decode(client.execute("COMMAND", "INFO", name))
    return found  # type: ignore[no-any-return]


def test_get_is_described_byte_for_byte_as_by_redis(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    assert client.execute("COMMAND", "INFO", "GET") == (
        b"*1\r\n*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
        b"~3\r\n+@read\r\n+@string\r\n+@fast\r\n~0\r\n~1\r\n%3\r\n$5\r\nflags\r\n~2\r\n+RO\r\n"
        b"+access\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n"
        b"%1\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n"
        b"$4\r\nspec\r\n%3\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n"
        b"~0\r\n"
    )


def test_keys_after_a_keyword_are_described_by_it(client: InProcessClient) -> None:
    name, arity, flags, first, last, step, _, _, keys, _ = described(client, "xread")
    assert (name, arity, first, last, step) == (b"xread", -4, 0, 0, 0)
    assert b"movablekeys" in flags
    assert keys[0][1] == [b"RO", b"access", b"incomplete"]
    assert keys[0][3] == [
        b"type", b"keyword", b"spec", [b"keyword", b"STREAMS", b"startfrom", 1],
    ]  # fmt: skip
    assert keys[0][5] == [
        b"type", b"range", b"spec", [b"lastkey", -1, b"keystep", 1, b"limit", 2],
    ]  # fmt: skip


def test_a_container_lists_its_subcommands(client: InProcessClient) -> None:
    found = described(client, "config")
    assert found[1] == -2
    names = {sub[0] for sub in found[9]}
    assert names >= {b"config|get", b"config|set", b"config|resetstat", b"config|rewrite"}


def test_info_answers_null_for_unknown_names(client: InProcessClient) -> None:
    assert client.execute("COMMAND", "INFO", "nonsense", "config|") == b"*2\r\n$-1\r\n$-1\r\n"
    client.execute("HELLO", "3")
    assert client.execute("COMMAND", "INFO", "nonsense") == b"*1\r\n_\r\n"


def test_info_finds_subcommands_in_any_case(client: InProcessClient) -> None:
    assert described(client, "Config|GET")[0] == b"config|get"


def test_all_commands_are_described_without_names(client: InProcessClient) -> None:
    every = client.execute("COMMAND")
    assert len(decode(every)) == len(COMMANDS)
    assert client.execute("COMMAND", "INFO") == every
    assert client.execute("COMMAND", "COUNT") == b":%d\r\n" % len(COMMANDS)


def test_commands_are_listed_by_name_whatever_was_imported_first(client: InProcessClient) -> None:
    names = [name.split(b"|") for name in decode(client.execute("COMMAND", "LIST"))]
    assert names == sorted(names)


def test_list_names_subcommands_too(client: InProcessClient) -> None:
    names = decode(client.execute("COMMAND", "LIST"))
    assert set(names) == {found.fullname for found in all_commands(COMMANDS)}
    assert {b"xadd", b"xgroup", b"xgroup|create"} <= set(names)


@pytest.mark.parametrize(
    ("kind", "value", "inside", "outside"),
    [
        ("PATTERN", "X*", b"xgroup|create", b"get"),
        ("ACLCAT", "Stream", b"xadd", b"get"),
        ("aclcat", "nonsense", None, b"get"),
        ("MODULE", "any", None, b"get"),
    ],
)
def test_list_filters(
    client: InProcessClient, kind: str, value: str, inside: bytes | None, outside: bytes
) -> None:
    names = decode(client.execute("COMMAND", "LIST", "FILTERBY", kind, value))
    assert outside not in names
    assert (inside in names) if inside else names == []


@pytest.mark.parametrize(
    "words", [("FOO",), ("FILTERBY",), ("FILTERBY", "FOO", "x"), ("FILTERBY", "PATTERN", "a", "b")]
)
def test_list_refuses_other_filters(client: InProcessClient, words: tuple[str, ...]) -> None:
    assert client.execute("COMMAND", "LIST", *words) == b"-ERR syntax error\r\n"


def test_an_unknown_subcommand_is_named(client: InProcessClient) -> None:
    reply = client.execute("COMMAND", "x")
    assert reply == b"-ERR unknown subcommand 'x'. Try COMMAND HELP.\r\n"


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    lines = decode(client.execute("COMMAND", "HELP"))
    words = {line.split()[0].lower() for line in lines}
    assert {name for name in COMMANDS[b"command"].subcommands if name != b"help"} <= words


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((), (0, 0, 0)),
        ((KeySpec(begin=1),), (1, 1, 1)),
        ((KeySpec(begin=2),), (2, 2, 1)),
        ((KeySpec(begin=1, last=-1, step=2),), (1, -1, 2)),
        ((KeySpec(begin=1), KeySpec(begin=2)), (1, 2, 1)),
        ((KeySpec(begin=1), KeySpec(begin=3)), (1, 1, 1)),
        ((KeySpec(begin=1, keyword=b"STREAMS", last=-1, limit=2),), (0, 0, 0)),
        ((KeySpec(begin=2), KeySpec(begin=3, last=-1)), (2, -1, 1)),
        ((KeySpec(begin=1), KeySpec(begin=3, last=-1)), (1, 1, 1)),
        ((KeySpec(begin=1, is_counted=True),), (0, 0, 0)),
        ((KeySpec(begin=1), KeySpec(is_unknown=True)), (1, 1, 1)),
    ],
)
def test_the_old_way_to_tell_keys_is_a_range(
    keys: tuple[KeySpec, ...], expected: tuple[int, int, int]
) -> None:
    assert legacy_range(keys) == expected


def test_counted_and_unknown_keys_are_described_as_such() -> None:
    counted = decode(describe_keys(KeySpec(begin=2, is_counted=True), 2))
    assert counted[3] == [b"type", b"index", b"spec", [b"index", 2]]
    assert counted[5] == [
        b"type", b"keynum", b"spec", [b"keynumidx", 0, b"firstkey", 1, b"keystep", 1],
    ]  # fmt: skip
    unknown = decode(describe_keys(KeySpec(is_unknown=True), 2))
    assert unknown[3] == unknown[5] == [b"type", b"unknown", b"spec", []]


def test_commands_are_found_by_their_full_names() -> None:
    assert find_command(b"XADD", COMMANDS) is COMMANDS[b"xadd"]
    assert find_command(b"xgroup|CREATE", COMMANDS) is COMMANDS[b"xgroup"].subcommands[b"create"]
    assert find_command(b"xgroup|nonsense", COMMANDS) is None
    assert find_command(b"get|", COMMANDS) is None
    assert find_command(b"nonsense|create", COMMANDS) is None


def documented(client: InProcessClient, name: str) -> dict[bytes, Any]:
    docs = pairs(decode(client.execute("COMMAND", "DOCS", name)))
    return pairs(docs[name.lower().encode()])


def test_a_command_is_documented_with_what_it_was_declared_with(client: InProcessClient) -> None:
    docs = documented(client, "XLEN")
    assert docs[b"since"] == b"5.0.0"
    assert docs[b"group"] == b"stream"
    assert docs[b"summary"].decode() == row_of(COMMANDS[b"xlen"]).summary
    assert docs[b"arguments"] == [
        [b"name", b"key", b"type", b"key", b"display_text", b"key", b"key_spec_index", 0]
    ]


def test_tokens_flags_and_parts_are_documented(client: InProcessClient) -> None:
    arguments = [pairs(argument) for argument in documented(client, "shutdown")[b"arguments"]]
    choice, now = arguments[0], arguments[1]
    assert (choice[b"type"], choice[b"flags"]) == (b"oneof", [b"optional"])
    assert [pairs(part)[b"token"] for part in choice[b"arguments"]] == [b"NOSAVE", b"SAVE"]
    assert (now[b"type"], now[b"token"]) == (b"pure-token", b"NOW")


def test_history_is_a_set_of_pairs(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    reply = client.execute("COMMAND", "DOCS", "config|set")
    change = b"Several directives in one call."
    assert b"$7\r\nhistory\r\n~1\r\n*2\r\n$5\r\n7.0.0\r\n$31\r\n" + change in reply


def test_maps_are_maps_in_resp3(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    reply = client.execute("COMMAND", "DOCS", "ping")
    assert reply.startswith(b"%1\r\n$4\r\nping\r\n%5\r\n$7\r\nsummary\r\n")
    assert b"*1\r\n%4\r\n$4\r\nname\r\n$7\r\nmessage\r\n" in reply
    assert b"$5\r\nflags\r\n~1\r\n+optional\r\n" in reply


def test_a_container_documents_its_subcommands(client: InProcessClient) -> None:
    subcommands = pairs(documented(client, "slowlog")[b"subcommands"])
    assert subcommands.keys() == {b"slowlog|get", b"slowlog|len", b"slowlog|reset", b"slowlog|help"}


def test_unknown_names_are_left_out(client: InProcessClient) -> None:
    assert client.execute("COMMAND", "DOCS", "nonsense") == b"*0\r\n"
    docs = pairs(decode(client.execute("COMMAND", "DOCS", "nonsense", "config|get")))
    assert docs.keys() == {b"config|get"}


def test_every_command_is_documented_without_names(client: InProcessClient) -> None:
    assert pairs(decode(client.execute("COMMAND", "DOCS"))).keys() == COMMANDS.keys()


def test_a_deprecated_command_says_since_when_and_what_to_use(client: InProcessClient) -> None:
    docs = documented(client, "getset")
    assert docs[b"doc_flags"] == [b"deprecated"]
    assert docs[b"deprecated_since"] == b"6.2.0"
    assert docs[b"replaced_by"] == b"`SET` with the `!GET` argument"
    assert b"doc_flags" not in documented(client, "get")


@pytest.mark.parametrize(
    ("request_text", "keys"),
    [
        ("GET a", [b"a"]),
        ("mset a 1 b 2", [b"a", b"b"]),
        ("RENAME a b", [b"a", b"b"]),
        ("XREAD COUNT 1 STREAMS a b 0 0", [b"a", b"b"]),
        ("XREADGROUP GROUP g STREAMS COUNT 1 STREAMS k >", [b"k"]),
        ("xreadgroup COUNT 1 CLAIM 5 NOACK GROUP STREAMS STREAMS streams k >", [b"k"]),
        ("XREAD MAXCOUNT 5 MAXSIZE 5 BLOCK 0 STREAMS STREAMS 0", [b"STREAMS"]),
        ("XREADGROUP GROUP streams c STREAMS k1 k2 > >", [b"k1", b"k2"]),
        ("xgroup CREATE k g $", [b"k"]),
        # Requests that XREAD refuses; the specification has an answer all the same.
        ("XREAD streams a b c", [b"a"]),
        ("XREAD STREAMS a b c d e", [b"a", b"b"]),
        ("XREADGROUP GROUP g c STREAMS a b c", [b"a"]),
        ("XREAD FOO STREAMS a b", [b"a"]),
    ],
)
def test_the_keys_of_a_request_are_returned(
    client: InProcessClient, request_text: str, keys: list[bytes]
) -> None:
    assert decode(client.execute("COMMAND", "GETKEYS", *request_text.split())) == keys


@pytest.mark.parametrize(
    ("request_text", "error"),
    [
        ("nope", b"-ERR Invalid command specified\r\n"),
        ("xgroup nope k", b"-ERR Invalid command specified\r\n"),
        ("PING", b"-ERR The command has no key arguments\r\n"),
        ("config get x", b"-ERR The command has no key arguments\r\n"),
        ("SPUBLISH channel message", b"-ERR The command has no key arguments\r\n"),
        ("GET a b", b"-ERR Invalid number of arguments specified for command\r\n"),
        ("XREAD COUNT 1 STREAMS a", b"-ERR Invalid arguments specified for command\r\n"),
        ("XREAD a b c", b"-ERR Invalid arguments specified for command\r\n"),
    ],
)
def test_a_request_without_keys_is_refused(
    client: InProcessClient, request_text: str, error: bytes
) -> None:
    assert client.execute("COMMAND", "GETKEYS", *request_text.split()) == error
    assert client.execute("COMMAND", "GETKEYSANDFLAGS", *request_text.split()) == error


def test_each_key_is_returned_with_its_flags(client: InProcessClient) -> None:
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", "RENAME", "a", "b")
    assert decode(reply) == [
        [b"a", [b"RW", b"access", b"delete"]],
        [b"b", [b"OW", b"update"]],
    ]


def test_that_a_specification_is_incomplete_is_no_flag_of_a_key(client: InProcessClient) -> None:
    target = ("h", 1, "", 0, 1, "KEYS", "a")
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", "MIGRATE", *target)
    assert decode(reply) == [[b"a", [b"RW", b"access", b"delete"]]]


def test_set_reads_its_key_only_with_get(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    plain = client.execute("COMMAND", "GETKEYSANDFLAGS", "SET", "k", "GET")
    assert plain == b"*1\r\n*2\r\n$1\r\nk\r\n~2\r\n+OW\r\n+update\r\n"
    with_get = client.execute("COMMAND", "GETKEYSANDFLAGS", "SET", "k", "v", "get")
    assert with_get == b"*1\r\n*2\r\n$1\r\nk\r\n~3\r\n+RW\r\n+access\r\n+update\r\n"


def test_the_target_of_a_search_is_the_one_after_the_last_option(client: InProcessClient) -> None:
    options = ("STORE", "a", "COUNT", 1, "STORE", "b")
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", "GEORADIUS", "k", 1, 1, 1, "m", *options)
    assert decode(reply) == [[b"k", [b"RO", b"access"]], [b"b", [b"OW", b"update"]]]


@pytest.mark.parametrize(
    ("request_text", "flags"),
    [
        ("SET k v IFEQ x", {b"RW", b"access", b"update"}),
        ("BITFIELD k GET u8 0", {b"RO", b"access"}),
        ("BITFIELD k GET u8 0 SET u8 0 1", {b"RW", b"access", b"update"}),
        ("DELEX k", {b"RM", b"delete"}),
        ("DELEX k IFEQ v", {b"RW", b"access", b"delete"}),
    ],
)
def test_options_decide_what_a_key_is_used_for(
    client: InProcessClient, request_text: str, flags: set[bytes]
) -> None:
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", *request_text.split())
    ((key, found),) = decode(reply)
    assert (key, set(found)) == (b"k", flags)
