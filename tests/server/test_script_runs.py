"""server/script_runs.py: scripts that pause, what waits meanwhile, and what resumes after."""

from __future__ import annotations

import pytest

from server.inprocess import InProcessClient, InProcessServer


@pytest.fixture
def server() -> InProcessServer:
    server = InProcessServer()
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    return server


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    return server.connect()


def go_on(server: InProcessServer) -> None:
    while server.dispatcher.script_runs.paused is not None:
        server.dispatcher.script_runs.go_on()
    server.finish_cycle()


LONG = "for i = 1, 11000 do end return redis.call('incr', 'k')"


def test_a_transaction_pauses_as_a_whole(server: InProcessServer, client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("SET", "k", 1), ("EVAL", LONG, 0), ("INCR", "k"))
    assert client.execute("EXEC") == b""
    assert server.connect().execute("GET", "k").startswith(b"-BUSY")
    assert server.propagated == []
    go_on(server)
    assert client.received() == b"*3\r\n+OK\r\n:2\r\n:3\r\n"
    assert [len(unit) for _, unit in server.propagated] == [5]


def test_what_the_client_sent_after_it_runs_after_it(
    server: InProcessServer, client: InProcessClient
) -> None:
    assert client.pipeline(("EVAL", LONG, 0), ("INCR", "k")) == b""
    go_on(server)
    assert client.received() == b":1\r\n:2\r\n"


def test_an_error_after_a_pause_is_answered(
    server: InProcessServer, client: InProcessClient
) -> None:
    assert client.execute("EVAL", "for i = 1, 11000 do end error('late')", 0) == b""
    go_on(server)
    assert client.received().startswith(b"-ERR user_script:1: late script: ")
    assert server.instance.stats.errors == {b"ERR": 1}


def test_ready_keys_and_expiry_wait_for_the_script(
    server: InProcessServer, client: InProcessClient
) -> None:
    waiter = server.connect()
    waiter.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$")
    script = "redis.call('xadd', 's', '1-1', 'a', 'b') for i = 1, 11000 do end return 1"
    assert client.execute("EVAL", script, 0) == b""
    server.tick()
    assert waiter.received() == b""
    go_on(server)
    assert client.received() == b":1\r\n"
    assert b"1-1" in waiter.received()


def test_statistics_count_a_paused_command_once(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("EVAL", LONG, 0)
    go_on(server)
    by_name = {c.fullname: s.calls for c, s in server.instance.stats.commands.items()}
    assert (by_name[b"eval"], by_name[b"incr"]) == (1, 1)
