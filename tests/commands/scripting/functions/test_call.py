"""FCALL and FCALL_RO."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer

LIBRARY = """#!lua name=l
redis.register_function('echo', function(keys, args) return {keys, args} end)
redis.register_function('put', function(keys) return redis.call('set', keys[1], 1) end)
redis.register_function{
  function_name = 'look', callback = function(keys) return redis.call('get', keys[1]) end,
  flags = {'no-writes'},
}
redis.register_function('long', function() while true do end end)
"""


@pytest.fixture(autouse=True)
def loaded(client: InProcessClient) -> None:
    client.execute("FUNCTION", "LOAD", LIBRARY)


@pytest.mark.parametrize("count", [1, 1000])
def test_a_function_gets_its_keys_and_arguments(client: InProcessClient, count: int) -> None:
    reply = client.execute("FCALL", "echo", 1, "k", *["a"] * count)
    assert reply == b"*2\r\n*1\r\n$1\r\nk\r\n*%d\r\n" % count + b"$1\r\na\r\n" * count


def test_read_only_calls_need_the_flag_no_writes(client: InProcessClient) -> None:
    assert client.execute("FCALL", "put", 1, "k") == b"+OK\r\n"
    assert client.execute("FCALL_RO", "look", 1, "k") == b"$1\r\n1\r\n"
    assert client.execute("FCALL_RO", "put", 1, "k") == (
        b"-ERR Can not execute a script with write flag using *_ro command.\r\n"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("nope", 0), b"-ERR Function not found\r\n"),
        (("echo", "x"), b"-ERR Bad number of keys provided\r\n"),
        (("echo", -1), b"-ERR Number of keys can't be negative\r\n"),
        (("echo", 5), b"-ERR Number of keys can't be greater than number of args\r\n"),
    ],
)
def test_wrong_calls_are_refused(
    client: InProcessClient, words: tuple[str | int, ...], error: bytes
) -> None:
    assert client.execute("FCALL", *words) == error


def test_the_changes_of_a_function_are_propagated_and_not_its_call(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.propagated.clear()
    client.execute("FCALL", "put", 1, "k")
    assert server.propagated == [(0, [[b"set", b"k", b"1"]])]


def test_a_long_function_is_ended_by_function_kill(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    assert client.execute("FCALL", "long", 0) == b""
    other = server.connect()
    assert other.execute("SCRIPT", "KILL").startswith(b"-BUSY Redis is busy running a script. You")
    stats = other.execute("FUNCTION", "STATS")
    assert b"$4\r\nlong\r\n" in stats and b"*3\r\n$5\r\nFCALL\r\n" in stats
    assert other.execute("FUNCTION", "KILL") == b"+OK\r\n"
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert b"script: long, on @user_function:8." in client.received()
