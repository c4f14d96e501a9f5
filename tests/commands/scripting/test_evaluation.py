"""Long scripts: which clients get -BUSY, and how the scripts are ended.

EVAL and its variants: how a script runs among other commands.

SCRIPT and its sub-commands.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands.scripting import calls
from commands.scripting.calls import Running
from commands.scripting.evaluation import Scripting
from commands.scripting.interpreter import MOST_INSTRUCTIONS
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import info_fields

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


RUN = b"-ERR Write commands are not allowed from read-only scripts. script: "


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (("EVAL", "return {KEYS, ARGV}", 1, "k", "a", "b"),
         b"*2\r\n*1\r\n$1\r\nk\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        (("EVAL", "return #ARGV", 0, *["x"] * 1000), b":1000\r\n"),
        (("EVAL", "return #KEYS", 100, *["x"] * 150), b":100\r\n"),
        (("EVAL", "return 1", 1), b"-ERR Number of keys can't be greater than number of args\r\n"),
        (("EVAL", "return 1", -1), b"-ERR Number of keys can't be negative\r\n"),
        (("EVAL", "return 1", "x"), b"-ERR value is not an integer or out of range\r\n"),
        (("EVALSHA", "abc", "x"), b"-NOSCRIPT No matching script. Please use EVAL.\r\n"),
        (("EVAL_RO", "return 2", 0), b":2\r\n"),
        (("EVALSHA_RO", "f" * 40, 0), b"-NOSCRIPT No matching script. Please use EVAL.\r\n"),
    ],
)  # fmt: skip
def test_keys_and_arguments(
    client: InProcessClient, request_: tuple[str | int, ...], reply: bytes
) -> None:
    assert client.execute(*request_) == reply


def test_what_a_script_changes_is_propagated_as_one_transaction(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SELECT", 3)
    client.execute(
        "EVAL", "redis.call('set', 'a', 1) redis.call('get', 'a') redis.call('incr', 'a')", 0
    )
    assert server.propagated == [
        (3, [[b"MULTI"], [b"set", b"a", b"1"], [b"incr", b"a"], [b"EXEC"]])
    ]


def test_a_script_with_one_write_is_propagated_as_that(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("EVAL", "redis.call('set', 'a', 1) return redis.call('nope')", 0)
    assert server.propagated == [(0, [[b"set", b"a", b"1"]])]


def test_set_repl_decides_which_writes_are_propagated(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute(
        "EVAL",
        "redis.set_repl(redis.REPL_NONE) redis.call('set', 'a', 1)"
        " redis.set_repl(redis.REPL_AOF) redis.call('set', 'b', 1)"
        " redis.set_repl(redis.REPL_REPLICA) redis.call('set', 'c', 1)"
        " redis.set_repl(redis.REPL_ALL) redis.call('set', 'd', 1)",
        0,
    )
    assert client.execute("DBSIZE") == b":4\r\n"
    ((_, unit),) = server.propagated
    assert [request for request in unit if request[0] == b"set"] == [
        [b"set", b"b", b"1"], [b"set", b"d", b"1"],
    ]  # fmt: skip


def test_set_repl_holds_no_expiry_back(server: InProcessServer, client: InProcessClient) -> None:
    client.pipeline(("SET", "k", "v", "PX", 1), ("HSET", "h", "f", "v", "g", "v"))
    client.execute("HPEXPIRE", "h", 1, "FIELDS", 1, "f")
    server.propagated.clear()
    server.instance.active_expiry = False
    server.now_ms += 10
    script = "redis.set_repl(redis.REPL_NONE) redis.call('incr', 'k') redis.call('hdel', 'h', 'f')"
    client.execute("EVAL", script, 0)
    assert server.propagated == [
        (0, [[b"MULTI"], [b"DEL", b"k"], [b"HDEL", b"h", b"f"], [b"EXEC"]])
    ]


@pytest.mark.parametrize(
    ("script", "failed", "error"),
    [
        ("return redis.error_reply('MINE a b')", 1, "MINE"),
        ("return {err='MINE a b'}", 1, "MINE"),
        ("return redis.pcall('lpush', 's', 1)", 1, "WRONGTYPE"),
        ("redis.pcall('lpush', 's', 1) return 1", 0, "WRONGTYPE"),
    ],
)
def test_an_error_that_a_script_returns_is_counted_once(
    client: InProcessClient, script: str, failed: int, error: str
) -> None:
    client.execute("SET", "s", "text")
    client.execute("EVAL", script, 0)
    fields = info_fields(client.execute("INFO", "commandstats", "errorstats"))
    assert f"failed_calls={failed}" in fields["cmdstat_eval"].split(",")
    assert fields[f"errorstat_{error}"] == "count=1"


def test_a_script_selects_a_database_for_itself_only(client: InProcessClient) -> None:
    client.execute("EVAL", "redis.call('select', 5) redis.call('set', 'k', 1)", 0)
    assert client.execute("EXISTS", "k") == b":0\r\n"
    client.execute("SELECT", 5)
    assert client.execute("EXISTS", "k") == b":1\r\n"


def test_blocked_clients_are_served_after_the_script(
    server: InProcessServer, client: InProcessClient
) -> None:
    waiter = server.connect()
    assert waiter.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$") == b""
    client.execute("EVAL", "redis.call('xadd', 's', '1-1', 'a', 'b') redis.call('del', 's')", 0)
    assert waiter.received() == b""
    client.execute("EVAL", "redis.call('xadd', 's', '2-1', 'a', 'b') redis.call('ping')", 0)
    assert b"2-1" in waiter.received()


def test_a_script_that_changes_a_watched_key_fails_the_transaction(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("WATCH", "k")
    server.connect().execute("EVAL", "redis.call('set', 'k', 1)", 0)
    client.pipeline(("MULTI",), ("PING",))
    assert client.execute("EXEC") == b"*-1\r\n"


def test_scripts_run_in_transactions(server: InProcessServer, client: InProcessClient) -> None:
    client.pipeline(
        ("MULTI",), ("SET", "a", 1), ("EVAL", "return redis.call('incr', 'a')", 0), ("PING",)
    )
    assert client.execute("EXEC") == b"*3\r\n+OK\r\n:2\r\n+PONG\r\n"
    assert server.propagated == [
        (0, [[b"MULTI"], [b"SET", b"a", b"1"], [b"incr", b"a"], [b"EXEC"]])
    ]


def test_monitors_see_the_script_and_then_its_commands(
    server: InProcessServer, client: InProcessClient
) -> None:
    monitor = server.connect()
    monitor.execute("MONITOR")
    client.execute("EVAL", "return redis.call('get', 'k')", 0)
    first, second = monitor.received().splitlines()
    assert b'"EVAL"' in first
    assert second.endswith(b'[0 lua] "get" "k"')


def test_keys_that_a_script_reads_are_tracked_for_its_caller(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("HELLO", 3)
    client.execute("CLIENT", "TRACKING", "ON")
    client.execute("EVAL", "return redis.call('get', 'k')", 0)
    server.connect().execute("SET", "k", 1)
    assert client.received() == b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"


INVALIDATED = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%b\r\n"


@pytest.mark.parametrize(
    "call",
    [
        ("EVAL_RO", "return redis.call('get', 'read')", "1", "declared"),
        ("EVAL", "#!lua flags=no-writes\nreturn redis.call('get', 'read')", "1", "declared"),
        ("FCALL_RO", "f", "1", "declared"),
    ],
)
@pytest.mark.parametrize("is_transaction", [False, True])
def test_what_a_read_only_script_reads_is_tracked_and_not_its_declared_keys(
    server: InProcessServer,
    client: InProcessClient,
    call: tuple[str, ...],
    is_transaction: bool,
) -> None:
    function = "{function_name='f', callback=function() return redis.call('get', 'read') end"
    code = f"#!lua name=l\nredis.register_function{function}, flags={{'no-writes'}}}}"
    client.execute("FUNCTION", "LOAD", code)
    client.execute("HELLO", 3)
    client.execute("CLIENT", "TRACKING", "ON")
    requests = [("MULTI",), call, ("EXEC",)] if is_transaction else [call]
    assert b"-ERR" not in client.pipeline(*requests)
    other = server.connect()
    other.execute("SET", "declared", 1)
    assert client.received() == b""
    other.execute("SET", "read", 1)
    assert client.received() == INVALIDATED % (4, b"read")


def test_client_caching_holds_for_all_that_a_script_reads(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("HELLO", 3)
    client.execute("CLIENT", "TRACKING", "ON", "OPTIN")
    client.execute("CLIENT", "CACHING", "YES")
    client.execute("EVAL", "redis.call('get', 'a') return redis.call('get', 'b')", 0)
    client.execute("EVAL", "return redis.call('get', 'c')", 0)
    server.connect().execute("MSET", "a", 1, "b", 1, "c", 1)
    assert client.received() == INVALIDATED % (1, b"a") + INVALIDATED % (1, b"b")


def test_read_only_scripts_do_not_write(client: InProcessClient) -> None:
    assert client.execute("EVAL_RO", "return redis.call('set', 'a', 1)", 0).startswith(RUN)
    no_writes = "#!lua flags=no-writes\nreturn redis.call('publish', 'a', 1)"
    assert client.execute("EVAL", no_writes, 0).startswith(RUN)
    assert client.execute("EVAL_RO", "#!lua\nreturn 1", 0) == (
        b"-ERR Can not execute a script with write flag using *_ro command.\r\n"
    )


def test_blocking_commands_answer_at_once(client: InProcessClient) -> None:
    client.execute("XADD", "s", "1-1", "a", "b")
    read = "return redis.call('xread', 'block', '0', 'streams', 's', '$')"
    assert client.execute("EVAL", read, 0) == b"$-1\r\n"


@pytest.mark.parametrize(
    "fields", ["source=5, line=1", "source='x', line='y'", "source={}, line=true", "line=1e300"]
)
def test_an_error_names_its_own_line_whatever_the_script_says(
    server: InProcessServer, client: InProcessClient, fields: str
) -> None:
    reply = client.execute("EVAL", f"\nerror({{err='boom', {fields}}})", 0)
    assert reply.startswith(b"-boom script: ") and reply.endswith(b", on @user_script:2.\r\n")
    assert client.execute("EVAL", "error({err=5})", 0).startswith(b"-5 script: ")
    assert client.execute("EVAL", "error({})", 0).startswith(b"-ERR unknown error script: ")
    assert server.log_lines == []


def test_errors_are_counted_once(server: InProcessServer, client: InProcessClient) -> None:
    client.execute("SET", "s", "x")
    client.execute("EVAL", "return redis.call('incr', 's')", 0)
    client.execute("EVAL", "error('x')", 0)
    client.execute("EVAL", "redis.pcall('nope')", 0)
    assert server.instance.stats.errors == {b"ERR": 3}


def test_the_first_script_with_keys_that_are_expired_removes_them(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "k", 1, "PX", 10)
    server.now_ms += 20
    assert client.execute("EVAL", "return redis.call('get', 'k')", 0) == b"$-1\r\n"
    assert server.propagated[-1] == (0, [[b"DEL", b"k"]])


SHA = b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"


def test_a_loaded_script_stays_until_the_flush(client: InProcessClient) -> None:
    assert client.execute("SCRIPT", "LOAD", "return 1") == b"$40\r\n%b\r\n" % SHA
    assert client.execute("SCRIPT", "EXISTS", SHA, "x") == b"*2\r\n:1\r\n:0\r\n"
    assert client.execute("EVALSHA", SHA, 0) == b":1\r\n"
    assert client.execute("SCRIPT", "FLUSH", "ASYNC") == b"+OK\r\n"
    assert client.execute("SCRIPT", "EXISTS", SHA) == b"*1\r\n:0\r\n"
    assert client.execute("EVALSHA", SHA, 0).startswith(b"-NOSCRIPT ")


def test_a_flush_replaces_the_interpreter(client: InProcessClient) -> None:
    number = ("EVAL", "return tostring(math.random())", 0)
    first = client.execute(*number)
    assert client.execute(*number) != first
    client.execute("SCRIPT", "FLUSH")
    assert client.execute(*number) == first


def test_there_is_no_debugger(client: InProcessClient) -> None:
    assert client.execute("SCRIPT", "DEBUG", "no") == b"+OK\r\n"
    assert client.execute("SCRIPT", "DEBUG", "yes").startswith(b"-ERR SCRIPT DEBUG is not")
    assert client.execute("SCRIPT", "DEBUG", "x") == b"-ERR Use SCRIPT DEBUG YES/SYNC/NO\r\n"


def test_script_kill_needs_a_running_script(client: InProcessClient) -> None:
    expected = b"-NOTBUSY No scripts in execution right now.\r\n"
    assert client.execute("SCRIPT", "KILL") == expected


def test_a_script_that_is_not_lua_is_not_loaded(client: InProcessClient) -> None:
    reply = client.execute("SCRIPT", "LOAD", "x x")
    assert reply == (
        b"-ERR Error compiling script (new function): user_script:1: '=' expected near 'x'\r\n"
    )
    assert client.execute("SCRIPT", "FLUSH", "now").startswith(b"-ERR SCRIPT FLUSH only support")


def test_help(client: InProcessClient) -> None:
    assert b"LOAD <script>" in client.execute("SCRIPT", "HELP")
