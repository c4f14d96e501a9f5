"""COMMAND, COMMAND COUNT, INFO, LIST, HELP."""

from __future__ import annotations

from typing import Any

import pytest

from commands.core.registry import COMMANDS, KeySpec
from commands.server.command.table import all_commands, describe_keys, find_command, legacy_range
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode


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
