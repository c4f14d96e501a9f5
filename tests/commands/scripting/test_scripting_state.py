"""Long scripts: which clients get -BUSY, and how the scripts are ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands.scripting import calls
from commands.scripting.interpreter import MOST_INSTRUCTIONS
from commands.scripting.running_script import Running
from commands.scripting.scripting_state import Scripting
from server.inprocess.server import InProcessClient, InProcessServer

BUSY = (
    b"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"
)


@pytest.fixture
def busy(server: InProcessServer, client: InProcessClient) -> InProcessClient:
    """A client whose script has run for longer than the threshold."""
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    client.execute("EVAL", "return 'warm'", 0)
    assert client.execute("EVAL", "while true do end", 0) == b""
    return client


def test_other_clients_get_busy_errors(server: InProcessServer, busy: InProcessClient) -> None:
    other = server.connect()
    assert other.execute("GET", "k") == BUSY
    assert other.execute("SHUTDOWN") == BUSY
    assert other.execute("MULTI") == b"+OK\r\n"
    assert other.execute("EXEC").startswith(b"-EXECABORT Transaction discarded because of: BUSY ")
    assert other.execute("SCRIPT", "KILL") == b"+OK\r\n"


def test_a_script_that_was_killed_ends_at_its_next_turn(
    server: InProcessServer, busy: InProcessClient
) -> None:
    other = server.connect()
    other.execute("SCRIPT", "KILL")
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert busy.received().startswith(b"-ERR Script killed by user with SCRIPT KILL... script: ")
    assert other.execute("PING") == b"+PONG\r\n"
    assert busy.execute("EVAL", "return 1", 0) == b":1\r\n"


@pytest.mark.parametrize(
    "script",
    [
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() end) end",
        "local co = coroutine.wrap(function() while true do end end) while true do pcall(co) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "error(setmetatable({}, {__tostring = function() while true do end end}))"
        " while true do end",
        "while true do redis.pcall('get', 'k') end",
        "local s = string.rep('x', 1000) while true do local a = s .. math.random() end",
        "while true do string.find(string.rep('a', 5000), '.-.-b') end",
        "table.sort({1, 2, 3}, function() while true do end end)",
        "string.gsub('aaa', 'a', function() while true do end end)",
        "pcall(coroutine.wrap(function() while true do end end))"
        " local function g() for i = 1, 1e9 do end end while true do pcall(g) end",
        "xpcall(function() while true do end end, function() while true do end end)",
        "xpcall(function() error('x') end, function() while true do end end)",
        "xpcall(function() error('x') end, function() error('y') end) while true do end",
        "error(setmetatable({}, {__index = function() while true do end end}))",
        "error(setmetatable({}, {__newindex = function() while true do end end}))",
        "while true do local co = coroutine.create(function() while true do"
        " coroutine.yield(pcall(function() while true do end end)) end end)"
        " for i = 1, 3 do pcall(coroutine.resume, co) end end",
        "local function f() return pcall(f) end while true do coroutine.wrap(f)() end",
        "local s = string.rep('x=1;', 50000) while true do loadstring(s) end",
    ],
)
def test_no_pcall_prevents_a_kill(
    server: InProcessServer, client: InProcessClient, script: str
) -> None:
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    if client.execute("EVAL", script, 0):
        return  # the script's own error
    server.connect().execute("SCRIPT", "KILL")
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received().startswith(b"-ERR Script killed by user")
    assert client.execute("EVAL", "return 1", 0) == b":1\r\n"


def test_a_number_of_many_digits_is_decoded_in_one_pass(client: InProcessClient) -> None:
    # Were each number of digits tried, this would not end.
    many = "return tostring(cjson.decode('[' .. string.rep('7', 2000000) .. ']')[1])"
    assert client.execute("EVAL", many, 0) == b"$3\r\ninf\r\n"


def test_function_kill_ends_the_loading_of_a_library(
    server: InProcessServer, busy: InProcessClient
) -> None:
    server.connect().execute("SCRIPT", "KILL")
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    busy.received()
    assert busy.execute("FUNCTION", "LOAD", "#!lua name=l\nwhile true do end") == b""
    other = server.connect()
    assert other.execute("GET", "k").startswith(b"-BUSY Redis is busy running a script. You can")
    assert other.execute("SCRIPT", "KILL").endswith(b"FUNCTION KILL or SHUTDOWN NOSAVE.\r\n")
    stats = other.execute("FUNCTION", "STATS")
    assert b"$4\r\nname\r\n$1\r\nl\r\n" in stats and b"$4\r\nLOAD\r\n" in stats
    assert other.execute("FUNCTION", "KILL") == b"+OK\r\n"
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert busy.received().startswith(b"-ERR Error registering functions: ERR Script killed by")
    assert busy.execute("FUNCTION", "LIST") == b"*0\r\n"
    assert server.propagated == []


def test_a_library_that_has_paused_is_loaded_and_propagated_once(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 400
    server.dispatcher.script_runs.slice_ns = 0
    client.execute("CONFIG", "SET", "busy-reply-threshold", 1)
    code = b"#!lua name=l\nfor i = 1, 60000 do end redis.register_function('f', function() end)"
    assert client.execute("FUNCTION", "LOAD", code) == b""
    while server.dispatcher.script_runs.paused is not None:
        server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received() == b"$1\r\nl\r\n"
    assert server.propagated == [(0, [[b"FUNCTION", b"LOAD", code]])]
    payload = client.execute("FUNCTION", "DUMP").split(b"\r\n", 1)[1][:-2]
    assert client.execute("FUNCTION", "RESTORE", payload, "FLUSH") == b""
    while server.dispatcher.script_runs.paused is not None:
        server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received() == b"+OK\r\n"
    assert server.propagated[1:] == [(0, [[b"FUNCTION", b"RESTORE", payload, b"FLUSH"]])]


def looks(server: InProcessServer, client: InProcessClient, script: str) -> int:
    """How often a script checks the clock, if each check seems to come late."""
    client.execute("CONFIG", "SET", "busy-reply-threshold", 0)
    server.clock_step_us, server.environment.clock_us_passed = 1_000_000, 0
    assert not client.execute("EVAL", script, 0).startswith(b"-")
    server.clock_step_us = 0
    return server.environment.clock_us_passed // 1_000_000


@pytest.mark.parametrize(
    ("prepare", "work"),
    [
        ("local t = {} for i = 1, %d do t[i] = i end", "return #table.concat(t, ',')"),
        ("local s = string.rep('a', 10 * %d)", "return #cjson.encode(s)"),
        ("local s = string.rep('x=1;', 6 * %d)", "loadstring(s)"),
    ],
)
def test_the_clock_is_checked_in_the_middle_of_long_calls(
    server: InProcessServer, client: InProcessClient, prepare: str, work: str
) -> None:
    def looks_of_work(size: int) -> int:
        before = looks(server, client, prepare % size)
        return looks(server, client, f"{prepare % size} {work}") - before

    assert looks_of_work(100_000) >= looks_of_work(1000) + 9


def test_the_more_memory_a_busy_script_uses_the_sooner_the_clock_is_checked(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.dispatcher.script_runs.slice_ns = 0
    client.execute("CONFIG", "SET", "busy-reply-threshold", 1)

    def looks_of_loop(kbytes: int) -> int:
        server.clock_step_us, server.environment.clock_us_passed = 400, 0
        script = f"local s = string.rep('x', {kbytes} * 1024) for i = 1, 100000 do end return #s"
        client.execute("EVAL", script, 0)
        while server.dispatcher.script_runs.paused is not None:
            server.dispatcher.script_runs.go_on()
        server.finish_cycle()
        return server.environment.clock_us_passed // 400

    few, many, most = looks_of_loop(1), looks_of_loop(1024), looks_of_loop(20 * 1024)
    assert many > 3 * few and most > 10 * many


def test_a_script_that_has_written_is_not_killed(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    script = "redis.call('set', 'k', 1) for i = 1, 11000 do end redis.call('incr', 'k') return 5"
    assert client.execute("EVAL", script, 0) == b""
    other = server.connect()
    assert other.execute("SCRIPT", "KILL").startswith(b"-UNKILLABLE Sorry the script already")
    assert server.propagated == []
    while server.dispatcher.script_runs.paused is not None:
        server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received() == b":5\r\n"
    assert server.propagated == [
        (0, [[b"MULTI"], [b"set", b"k", b"1"], [b"incr", b"k"], [b"EXEC"]])
    ]
    assert other.execute("GET", "k") == b"$1\r\n2\r\n"


@pytest.fixture
def look(server: InProcessServer, client: InProcessClient) -> Callable[..., int]:
    """Checks the clock as a script does that runs."""
    scripting = server.instance.feature(Scripting)
    client.execute("EVAL", "for _ = 1, 1 do end", 0)
    scripting.running = Running(client.state, b"sha", [])
    scripting.running.started_us = 1 << 62

    def look(*, is_early: bool = False) -> int:
        return scripting.check_clock(is_early, MOST_INSTRUCTIONS)

    return look


def test_after_slow_instructions_the_clock_is_checked_sooner(
    server: InProcessServer, look: Callable[..., int]
) -> None:
    assert look() == MOST_INSTRUCTIONS
    server.clock_step_us = 5_000
    assert look() == MOST_INSTRUCTIONS // 10
    assert look() == MOST_INSTRUCTIONS // 100
    server.clock_step_us = 1_000_000
    assert look() == 1
    server.clock_step_us = 10
    assert [look() for _ in range(14)][-2:] == [8192, MOST_INSTRUCTIONS]


def test_after_long_work_few_instructions_run_unchecked(look: Callable[..., int]) -> None:
    assert look() == MOST_INSTRUCTIONS
    assert look(is_early=True) < MOST_INSTRUCTIONS // 100


def test_after_a_slow_command_a_script_pauses(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    monkeypatch.setattr(calls, "SLOW_NS", -1)
    monkeypatch.setattr(calls, "LONG_NS", -1)
    script = "redis.call('get', 'k') return 5"
    assert client.execute("EVAL", script, 0) == b":5\r\n"  # it was thought to be brief
    assert client.execute("EVAL", script, 0) == b""
    assert server.connect().execute("GET", "k") == BUSY
    while server.dispatcher.script_runs.paused is not None:
        server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received() == b":5\r\n"


def test_with_a_threshold_of_zero_scripts_are_not_paused(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 10_000_000
    client.execute("CONFIG", "SET", "busy-reply-threshold", 0)
    assert client.execute("EVAL", "for i = 1, 100000 do end return 1", 0) == b":1\r\n"


def test_the_caller_may_leave_while_its_script_runs(
    server: InProcessServer, busy: InProcessClient
) -> None:
    busy.disconnect()
    other = server.connect()
    assert other.execute("SCRIPT", "KILL") == b"+OK\r\n"
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert other.execute("PING") == b"+PONG\r\n"


def test_shutdown_nosave_works_during_a_script(
    server: InProcessServer, busy: InProcessClient
) -> None:
    server.connect().execute("SHUTDOWN", "NOSAVE")
    assert server.shutdown_requested
