"""COMMAND DOCS."""

from __future__ import annotations

from typing import Any

import pytest

from commands.core.documentation import row_of
from commands.core.registry import COMMANDS
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, pairs


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


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
