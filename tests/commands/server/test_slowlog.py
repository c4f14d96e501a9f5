"""SLOWLOG."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, server_with


@pytest.fixture
def server() -> InProcessServer:
    return server_with(slowlog_log_slower_than="0")


def test_get_returns_the_slow_requests(client: InProcessClient) -> None:
    client.execute("CLIENT", "SETNAME", "me")
    client.execute("SET", "k", "v")
    newest = decode(client.execute("SLOWLOG", "GET", "1"))[0]
    assert newest[0] == 1
    assert newest[1] == 1_700_000_000
    assert newest[2] >= 0
    assert newest[3:] == [[b"SET", b"k", b"v"], client.state.address, b"me", 3]


def test_get_answers_ten_as_many_as_asked_for_or_all(client: InProcessClient) -> None:
    for _ in range(20):
        client.execute("PING")
    assert len(decode(client.execute("SLOWLOG", "GET"))) == 10
    assert len(decode(client.execute("SLOWLOG", "GET", "3"))) == 3
    assert decode(client.execute("SLOWLOG", "GET", "0")) == []
    assert len(decode(client.execute("SLOWLOG", "GET", "-1"))) == 23


def test_len_and_reset(client: InProcessClient) -> None:
    client.execute("PING")
    client.execute("PING")
    assert client.execute("SLOWLOG", "LEN") == b":2\r\n"
    assert client.execute("SLOWLOG", "RESET") == b"+OK\r\n"
    # RESET itself is in the log again, as in Redis.
    assert client.execute("SLOWLOG", "LEN") == b":1\r\n"


@pytest.mark.parametrize("count", ["-2", "abc", "1.5"])
def test_a_count_below_minus_one_is_refused(client: InProcessClient, count: str) -> None:
    reply = client.execute("SLOWLOG", "GET", count)
    assert reply == b"-ERR count should be greater than or equal to -1\r\n"


def test_more_words_are_refused(client: InProcessClient) -> None:
    assert client.execute("SLOWLOG", "GET", "1", "2") == (
        b"-ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.\r\n"
    )


def test_nothing_is_logged_below_the_threshold_or_when_it_is_off(client: InProcessClient) -> None:
    client.execute("CONFIG", "SET", "slowlog-log-slower-than", "10000000")
    client.execute("SLOWLOG", "RESET")
    client.execute("PING")
    assert client.execute("SLOWLOG", "LEN") == b":0\r\n"
    client.execute("CONFIG", "SET", "slowlog-log-slower-than", "-1")
    client.execute("PING")
    assert client.execute("SLOWLOG", "LEN") == b":0\r\n"


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    words = {line.split()[0] for line in decode(client.execute("SLOWLOG", "HELP"))}
    assert {b"GET", b"LEN", b"RESET", b"HELP"} <= words
