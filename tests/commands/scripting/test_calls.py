"""redis.call and the rest of the `redis` library."""

from __future__ import annotations

import pytest

from commands.scripting.scripting_state import Scripting
from server.inprocess.server import InProcessClient, InProcessServer


def test_many_arguments_reach_the_command(client: InProcessClient) -> None:
    script = (
        "local t = {} for i = 1, 100 do t[i] = i end return redis.call('rpush', 'l', unpack(t))"
    )
    assert client.execute("EVAL", script, 0) == b":100\r\n"
    assert client.execute("LRANGE", "l", -2, -1) == b"*2\r\n$2\r\n99\r\n$3\r\n100\r\n"


@pytest.mark.parametrize(
    ("number", "text"), [("3", b"3"), ("0.5", b"0.5"), ("2^60", b"1152921504606846976")]
)
@pytest.mark.parametrize("padding", [0, 20])
def test_numbers_are_sent_as_texts(
    client: InProcessClient, number: str, text: bytes, padding: int
) -> None:
    extra = "'x', 'y', " * padding
    client.execute("EVAL", f"redis.call('mset', {extra} 'k', {number})", 0)
    assert client.execute("GET", "k") == b"$%d\r\n%b\r\n" % (len(text), text)


@pytest.mark.parametrize("argument", ["{}", "nil", "true", "print_ or {}", "function() end"])
def test_other_values_are_refused_as_arguments(client: InProcessClient, argument: str) -> None:
    argument = argument.replace("print_ or ", "")
    reply = client.execute("EVAL", f"return redis.call('set', 'k', {argument})", 0)
    assert reply.startswith(b"-ERR Lua redis lib command arguments must be strings or integers")


def test_pcall_returns_what_call_raises(client: InProcessClient) -> None:
    script = "local e = redis.pcall('get') return e.err"
    assert b"Wrong number of args" in client.execute("EVAL", script, 0)
    script = "local ok, e = pcall(redis.call, 'get') return {tostring(ok), e}"
    assert b"$5\r\nfalse" in client.execute("EVAL", script, 0)


def test_replies_in_resp3(client: InProcessClient) -> None:
    client.execute("XADD", "s", "1-1", "a", "b")
    script = "redis.setresp(3) return redis.call('xread', 'streams', 's', '0').map.s[1][1]"
    assert client.execute("EVAL", script, 0) == b"$3\r\n1-1\r\n"
    script = "return redis.call('xread', 'streams', 's', '0')[1][1]"
    assert client.execute("EVAL", script, 0) == b"$1\r\ns\r\n"


def test_log_lines_go_to_the_log(server: InProcessServer, client: InProcessClient) -> None:
    client.execute("EVAL", "redis.log(redis.LOG_WARNING, 'a', 1, 'b')", 0)
    assert ("warning", "a 1 b") in server.log_lines


@pytest.mark.interpreted
def test_the_script_gets_the_text_of_a_defect(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> bytes:
        raise RuntimeError("broken")

    client.execute("EVAL", "return 1", 0)
    calls = server.instance.feature(Scripting).calls
    monkeypatch.setattr(calls, "_call_plain", broken)
    script = "local ok, e = pcall(redis.call, 'get', 'k') return {type(e), e}"
    reply = client.execute("EVAL", script, 0)
    assert reply.startswith(b"*2\r\n$6\r\nstring\r\n$40\r\nERR internal error")
    assert any("broken" in line for _, line in server.log_lines)


def test_time_stands_still_for_a_script(server: InProcessServer, client: InProcessClient) -> None:
    server.clock_step_us = 1000
    script = """
        redis.call('set', 'k', 1, 'px', 2)
        for _ = 1, 10 do redis.call('ping') end
        return redis.call('get', 'k')
    """
    assert client.execute("EVAL", script, 0) == b"$1\r\n1\r\n"


def test_writes_are_refused_while_the_disk_fails(
    server: InProcessServer, client: InProcessClient
) -> None:
    from protocol.errors import ReplyError

    server.instance.refuse_writes(ReplyError(b"MISCONF no disk"))
    assert client.execute("EVAL", "return redis.call('set', 'k', 1)", 0).startswith(
        b"-MISCONF no disk script: "
    )
    assert client.execute("EVAL", "return redis.call('get', 'k')", 0) == b"$-1\r\n"
    assert client.execute("EVAL", "#!lua\nreturn 1", 0) == b"-MISCONF no disk\r\n"
