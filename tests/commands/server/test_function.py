"""FUNCTION over an empty store. The replies are those of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from server.inprocess import InProcessClient, InProcessServer
from tests.commands.server.decoding import decode


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


@pytest.mark.parametrize("words", [(), ("ASYNC",), ("sync",)])
def test_flush_empties_the_empty_store(client: InProcessClient, words: tuple[str, ...]) -> None:
    assert client.execute("FUNCTION", "FLUSH", *words) == b"+OK\r\n"
    assert client.server.propagated == []


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("FLUSH FOO", b"-ERR FUNCTION FLUSH only supports SYNC|ASYNC option\r\n"),
        (
            "FLUSH SYNC ASYNC",
            b"-ERR unknown subcommand or wrong number of arguments for 'FLUSH'."
            b" Try FUNCTION HELP.\r\n",
        ),
        ("LIST", b"*0\r\n"),
        ("LIST LIBRARYNAME pattern withcode", b"*0\r\n"),
        ("LIST FOO", b"-ERR Unknown argument FOO\r\n"),
        ("LIST LIBRARYNAME", b"-ERR library name argument was not given\r\n"),
        ("LIST WITHCODE WITHCODE", b"-ERR Unknown argument WITHCODE\r\n"),
        ("LIST LIBRARYNAME a LIBRARYNAME b", b"-ERR Unknown argument LIBRARYNAME\r\n"),
        ("LOAD x", b"-ERR unknown subcommand 'LOAD'. Try FUNCTION HELP.\r\n"),
    ],
)
def test_replies(client: InProcessClient, words: str, reply: bytes) -> None:
    assert client.execute("FUNCTION", *words.split()) == reply


def test_stats_count_nothing(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    assert client.execute("FUNCTION", "STATS") == (
        b"%2\r\n$14\r\nrunning_script\r\n_\r\n$7\r\nengines\r\n%1\r\n$3\r\nLUA\r\n"
        b"%2\r\n$15\r\nlibraries_count\r\n:0\r\n$15\r\nfunctions_count\r\n:0\r\n"
    )


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    words = {line.split()[0] for line in decode(client.execute("FUNCTION", "HELP"))}
    assert {b"FLUSH", b"LIST", b"STATS", b"HELP"} <= words
