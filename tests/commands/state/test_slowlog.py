"""What the slow log keeps."""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration
from commands.core.client import Client
from commands.state.slowlog import SlowLog, shortened
from tests.commands.server.decoder import server_with


@pytest.fixture
def client() -> Client:
    return server_with(slowlog_max_len="3").connect().state


@pytest.fixture
def slowlog(client: Client) -> SlowLog:
    return client.instance.feature(SlowLog)


def test_an_entry_has_the_request_its_duration_and_its_client(
    client: Client, slowlog: SlowLog
) -> None:
    client.name = b"worker"
    slowlog.record(client, [b"GET", b"k"], 12_345, 1_700_000_000_999)
    (request,) = slowlog.latest(10)
    assert (request.id, request.time_s, request.duration_us) == (0, 1_700_000_000, 12_345)
    assert (request.argv, request.address, request.client_name) == (
        [b"GET", b"k"],
        client.address,
        b"worker",
    )


def test_the_newest_come_first_and_the_oldest_go(client: Client, slowlog: SlowLog) -> None:
    for number in range(5):
        slowlog.record(client, [b"%d" % number], 1, 0)
    assert len(slowlog) == 3
    assert [request.id for request in slowlog.latest(-1)] == [4, 3, 2]
    assert [request.id for request in slowlog.latest(2)] == [4, 3]
    assert list(slowlog.latest(0)) == []


def test_a_smaller_limit_counts_from_the_next_entry_on(client: Client, slowlog: SlowLog) -> None:
    for _ in range(3):
        slowlog.record(client, [b"x"], 1, 0)
    slowlog.config.slowlog_max_len = 1
    slowlog.record(client, [b"x"], 1, 0)
    assert len(slowlog) == 1
    slowlog.config.slowlog_max_len = 0
    slowlog.record(client, [b"x"], 1, 0)
    assert len(slowlog) == 0


def test_ids_go_on_after_a_reset(client: Client, slowlog: SlowLog) -> None:
    slowlog.record(client, [b"x"], 1, 0)
    slowlog.reset()
    slowlog.record(client, [b"x"], 1, 0)
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
