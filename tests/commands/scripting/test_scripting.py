"""Long scripts: which clients get -BUSY, and how the scripts are ended."""

from __future__ import annotations

import pytest

from commands.scripting import calls
from commands.scripting.interpreter import MOST_INSTRUCTIONS
from server.inprocess import InProcessClient, InProcessServer

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


def test_after_slow_instructions_the_clock_is_checked_sooner(
    server: InProcessServer, client: InProcessClient
) -> None:
    scripting = server.instance.scripting
    client.execute("EVAL", "return 1", 0)
    assert scripting.look(False) == MOST_INSTRUCTIONS
    server.clock_step_us = 5_000
    assert scripting.look(False) == MOST_INSTRUCTIONS // 10
    assert scripting.look(False) == MOST_INSTRUCTIONS // 100
    server.clock_step_us = 1_000_000
    assert scripting.look(False) == 1
    server.clock_step_us = 10
    assert [scripting.look(False) for _ in range(14)][-2:] == [8192, MOST_INSTRUCTIONS]


def test_after_long_work_few_instructions_run_unchecked(
    server: InProcessServer, client: InProcessClient
) -> None:
    scripting = server.instance.scripting
    client.execute("EVAL", "return 1", 0)
    assert scripting.look(False) == MOST_INSTRUCTIONS
    assert scripting.look(True) < MOST_INSTRUCTIONS // 100


def test_after_a_slow_command_a_script_pauses(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    monkeypatch.setattr(calls, "SLOW_NS", -1)
    assert client.execute("EVAL", "redis.call('get', 'k') return 5", 0) == b""
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
