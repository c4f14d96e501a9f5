"""The client of a script's commands.

Scripts by their SHA1: which are kept, and which are evicted.

redis.call and the rest of the `redis` library.
"""

from __future__ import annotations

import pytest

from commands.scripting.calls import EVALUATED_LIMIT, ScriptCache
from commands.scripting.evaluation import Scripting
from commands.scripting.interpreter import Compiled
from server.inprocess.server import InProcessClient, InProcessServer


def test_the_client_of_a_script_is_invisible_to_others(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("EVAL", "return redis.call('set', 'k', 1)", 0)
    assert client.execute("CLIENT", "LIST").count(b"id=") == 1


def test_with_noloop_a_caller_gets_no_invalidations_of_its_own_script(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("HELLO", 3)
    client.execute("CLIENT", "TRACKING", "ON", "NOLOOP")
    client.execute("GET", "k")
    assert client.execute("EVAL", "return redis.call('set', 'k', 1)", 0) == b"+OK\r\n"
    assert client.received() == b""


def test_each_script_starts_in_resp2(client: InProcessClient) -> None:
    client.execute("EVAL", "redis.setresp(3)", 0)
    assert client.execute("EVAL", "return type(redis.call('get', 'k'))", 0) == b"$7\r\nboolean\r\n"


def new_cache() -> ScriptCache:
    return ScriptCache(lambda source: Compiled(source, 0, False))


def test_a_script_is_found_by_its_sha1_in_any_case() -> None:
    cache = new_cache()
    script = cache.take(b"return 1", is_loaded=True)
    assert script.sha == b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
    assert cache.find(script.sha.upper()) is script
    assert script.sha.upper() in cache
    assert cache.find(b"0" * 40) is None


def test_of_scripts_loaded_by_eval_the_least_recently_used_are_evicted_first() -> None:
    cache = new_cache()
    first = cache.take(b"0", is_loaded=False)
    second = cache.take(b"1", is_loaded=False)
    loaded = cache.take(b"loaded", is_loaded=True)
    for number in range(2, EVALUATED_LIMIT):
        cache.take(b"%d" % number, is_loaded=False)
    cache.find(first.sha)
    cache.take(b"one more", is_loaded=False)
    assert first.sha in cache and loaded.sha in cache
    assert second.sha not in cache
    assert cache.evicted == 1
    assert len(cache) == EVALUATED_LIMIT + 1


def test_scripts_of_script_load_are_never_evicted() -> None:
    cache = new_cache()
    script = cache.take(b"x", is_loaded=False)
    cache.take(b"x", is_loaded=True)
    for number in range(EVALUATED_LIMIT + 1):
        cache.take(b"%d" % number, is_loaded=False)
    assert script.sha in cache


def test_a_cleared_cache_is_empty() -> None:
    cache = new_cache()
    cache.take(b"abc", is_loaded=False)
    assert cache.body_bytes == 3
    cache.clear()
    assert (len(cache), cache.body_bytes) == (0, 0)


def test_info_counts_evicted_scripts(client: InProcessClient) -> None:
    for number in range(EVALUATED_LIMIT + 3):
        client.execute("EVAL", f"return {number}", 0)
    info = client.execute("INFO", "everything")
    assert b"evicted_scripts:3\r\n" in info
    assert b"number_of_cached_scripts:%d\r\n" % EVALUATED_LIMIT in info


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
