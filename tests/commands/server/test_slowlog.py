"""SLOWLOG."""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration
from commands.core.client import Client
from commands.server.slowlog import SlowLog, shortened
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


@pytest.fixture
def state() -> Client:
    return server_with(slowlog_max_len="3").connect().state


@pytest.fixture
def slowlog(state: Client) -> SlowLog:
    return state.instance.feature(SlowLog)


def test_an_entry_has_the_request_its_duration_and_its_client(
    state: Client, slowlog: SlowLog
) -> None:
    state.name = b"worker"
    slowlog.record(state, [b"GET", b"k"], 12_345, 1_700_000_000_999)
    (request,) = slowlog.latest(10)
    assert (request.id, request.time_s, request.duration_us) == (0, 1_700_000_000, 12_345)
    assert (request.argv, request.address, request.client_name) == (
        [b"GET", b"k"],
        state.address,
        b"worker",
    )


def test_the_newest_come_first_and_the_oldest_go(state: Client, slowlog: SlowLog) -> None:
    for number in range(5):
        slowlog.record(state, [b"%d" % number], 1, 0)
    assert len(slowlog) == 3
    assert [request.id for request in slowlog.latest(-1)] == [4, 3, 2]
    assert [request.id for request in slowlog.latest(2)] == [4, 3]
    assert list(slowlog.latest(0)) == []


def test_a_smaller_limit_counts_from_the_next_entry_on(state: Client, slowlog: SlowLog) -> None:
    for _ in range(3):
        slowlog.record(state, [b"x"], 1, 0)
    slowlog.config.slowlog_max_len = 1
    slowlog.record(state, [b"x"], 1, 0)
    assert len(slowlog) == 1
    slowlog.config.slowlog_max_len = 0
    slowlog.record(state, [b"x"], 1, 0)
    assert len(slowlog) == 0


def test_ids_go_on_after_a_reset(state: Client, slowlog: SlowLog) -> None:
    slowlog.record(state, [b"x"], 1, 0)
    slowlog.reset()
    slowlog.record(state, [b"x"], 1, 0)
    assert [request.id for request in slowlog.latest(-1)] == [1]


def test_arguments_are_kept_up_to_the_number_of_the_configuration_and_more_are_counted() -> None:
    argv = [b"%d" % number for number in range(40)]
    config = Configuration()
    assert shortened(argv[:32], config) == argv[:32]
    assert shortened(argv, config) == [*argv[:31], b"... (9 more arguments)"]
    config.set("slowlog-entry-max-argc", ["2"])
    assert shortened(argv[:2], config) == argv[:2]
    assert shortened(argv[:6], config) == [b"0", b"... (5 more arguments)"]


def test_an_argument_is_kept_up_to_the_length_of_the_configuration_and_more_is_counted() -> None:
    config = Configuration()
    assert shortened([b"x" * 128], config) == [b"x" * 128]
    assert shortened([b"x" * 130], config) == [b"x" * 128 + b"... (2 more bytes)"]
    config.set("slowlog-entry-max-string-len", ["16"])
    assert shortened([b"set", b"A" * 20], config) == [b"set", b"A" * 16 + b"... (4 more bytes)"]
