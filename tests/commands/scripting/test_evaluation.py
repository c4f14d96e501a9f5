"""EVAL and its variants: how a script runs among other commands."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import info_fields

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
