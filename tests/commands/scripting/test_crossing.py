"""Values between Python and Lua: the direct way of compiled code has the results of lupa's."""

from __future__ import annotations

import pytest

from commands.scripting.crossing import to_words
from commands.scripting.scripting_state import Scripting
from server.inprocess.server import InProcessClient, InProcessServer

# Scripts that return the value of a command, and what they return. Source: Redis 8.2.3.
RESULTS = {
    "return redis.call('set', 'k', 'v')": b"+OK\r\n",
    "return redis.call('get', 'k')": b"$1\r\nv\r\n",
    "return redis.call('get', 'none')": b"$-1\r\n",
    "return redis.call('get', 'none') == false": b":1\r\n",
    "return redis.call('incrby', 'n', '-7')": b":-7\r\n",
    "return redis.call('mget', 'k', 'none')": b"*2\r\n$1\r\nv\r\n$-1\r\n",
    "return redis.call('xrange', 's', '-', '+')": (
        b"*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    ),
    "redis.setresp(3) return redis.call('hgetall', 'h')": b"*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
    "return #redis.call('lrange', 'long', 0, -1)": b":5000\r\n",
}
# Results of a script in RESP2 and RESP3.
REPLIES = {
    "return 1.9": (b":1\r\n", b":1\r\n"),
    "return -1.9": (b":-1\r\n", b":-1\r\n"),
    "return 1e300": (b":-9223372036854775808\r\n", b":-9223372036854775808\r\n"),
    "return 0/0": (b":-9223372036854775808\r\n", b":-9223372036854775808\r\n"),
    "return nil": (b"$-1\r\n", b"_\r\n"),
    "return false": (b"$-1\r\n", b"_\r\n"),
    "return true": (b":1\r\n", b":1\r\n"),
    "redis.setresp(3) return true": (b":1\r\n", b"#t\r\n"),
    "return ''": (b"$0\r\n\r\n", b"$0\r\n\r\n"),
    "return 'a\\0b'": (b"$3\r\na\0b\r\n", b"$3\r\na\0b\r\n"),
    "return {}": (b"*0\r\n", b"*0\r\n"),
    "return {1, 'a', {true, {2}}}": (
        b"*3\r\n:1\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n:2\r\n",
        b"*3\r\n:1\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n:2\r\n",
    ),
    "return {1, nil, 3}": (b"*1\r\n:1\r\n", b"*1\r\n:1\r\n"),
    "return {1, false, 3}": (b"*3\r\n:1\r\n$-1\r\n:3\r\n", b"*3\r\n:1\r\n_\r\n:3\r\n"),
    "return {1, 2, x = 3}": (b"*2\r\n:1\r\n:2\r\n", b"*2\r\n:1\r\n:2\r\n"),
    "return {ok = 'fine'}": (b"+fine\r\n", b"+fine\r\n"),
    "return {ok = 'a\\nb'}": (b"+a b\r\n", b"+a b\r\n"),
    "return {ok = 'fine', err = 'ERR bad'}": (b"-ERR bad\r\n", b"-ERR bad\r\n"),
    "return {{ok = 'fine'}, {err = 'ERR bad'}}": (
        b"*2\r\n+fine\r\n-ERR bad\r\n",
        b"*2\r\n+fine\r\n-ERR bad\r\n",
    ),
    "return {double = 1.5}": (b"$3\r\n1.5\r\n", b",1.5\r\n"),
    "return {{{{{{{{9}}}}}}}}": (b"*1\r\n" * 8 + b":9\r\n", b"*1\r\n" * 8 + b":9\r\n"),
    "return KEYS": (b"*0\r\n", b"*0\r\n"),
    "return ARGV": (b"*1\r\n$1\r\na\r\n", b"*1\r\n$1\r\na\r\n"),
}


@pytest.fixture
def filled(client: InProcessClient) -> InProcessClient:
    client.execute("SET", "k", "v")
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("HSET", "h", "f", "v")
    client.execute("RPUSH", "long", *range(5000))
    return client


@pytest.mark.parametrize("script", RESULTS)
def test_replies_of_commands_become_values(filled: InProcessClient, script: str) -> None:
    assert filled.execute("EVAL", script, 0) == RESULTS[script]


@pytest.mark.parametrize("script", REPLIES)
def test_results_become_replies(client: InProcessClient, script: str) -> None:
    of_resp2, of_resp3 = REPLIES[script]
    assert client.execute("EVAL", script, 0, "a") == of_resp2
    client.execute("HELLO", 3)
    assert client.execute("EVAL", script, 0, "a") == of_resp3


def test_a_long_list_becomes_a_reply(client: InProcessClient) -> None:
    script = "local t = {} for i = 1, 2000 do t[i] = i end return t"
    assert client.execute("EVAL", script, 0).startswith(b"*2000\r\n:1\r\n:2\r\n")


def test_lists_that_are_in_others_many_times_have_the_limit_of_memory(
    client: InProcessClient,
) -> None:
    script = """
        local text, inner, outer = string.rep('x', 1000), {}, {}
        for i = 1, 1000 do inner[i] = text end
        for i = 1, 300 do outer[i] = inner end
        return outer
    """
    assert client.execute("EVAL", script, 0) == b"-ERR not enough memory\r\n"
    reply = client.execute("EVAL", "return {string.rep('x', 2000000), 1}", 0)
    assert reply == b"*2\r\n$2000000\r\n" + b"x" * 2_000_000 + b"\r\n:1\r\n"


def test_functions_are_freed_with_the_scripts_that_were_evicted(
    server: InProcessServer, client: InProcessClient
) -> None:
    for number in range(1200):
        client.execute("EVAL", f"return {number}", 0)
    interpreter = server.instance.feature(Scripting).interpreter
    interpreter.collect()
    before = interpreter.memory_bytes
    for number in range(1200, 2400):
        assert client.execute("EVAL", f"return {number}", 0) == b":%d\r\n" % number
    interpreter.collect()
    assert interpreter.memory_bytes < before + 20_000


def test_numbers_become_words() -> None:
    assert to_words((b"a", 1, 0.5)) == [b"a", b"1", b"0.5"]
    assert to_words((b"a", None)) is None
