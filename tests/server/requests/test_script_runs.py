"""script_runs.py: scripts that pause, what waits meanwhile, and what resumes after."""

from __future__ import annotations

import pytest

from protocol.replies import command
from server.inprocess.server import InProcessClient, InProcessServer
from server.persistence.loading.loader import LoadFailed


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


def test_a_transaction_that_loads_a_library_pauses_as_a_whole(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 400  # a library has half a second to load
    client.execute("CONFIG", "SET", "busy-reply-threshold", 1)
    function = "redis.register_function('f', function() return 1 end)"
    library = f"#!lua name=l\nfor i = 1, 60000 do end {function}"
    client.pipeline(("MULTI",), ("FUNCTION", "LOAD", library), ("INCR", "k"))
    assert client.execute("EXEC") == b""
    go_on(server)
    assert client.received() == b"*2\r\n$1\r\nl\r\n:1\r\n"


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


def test_a_paused_script_took_its_time_itself(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "k", "v")
    client.execute("CONFIG", "SET", "slowlog-log-slower-than", "0")
    client.execute("EVAL", LONG.replace("'incr'", "'get'"), 0)
    go_on(server)
    stats = {c.fullname: s for c, s in server.instance.stats.commands.items()}
    assert (stats[b"get"].calls, stats[b"eval"].calls) == (1, 1)
    assert b"return redis.call('get'" in client.execute("SLOWLOG", "GET")


# -- shutdown ------------------------------------------------------------------------------------

WRITE = "redis.call('set', 'k', 1) while true do end"
LOOP = "while true do end"


def test_a_signal_ends_a_script_before_the_threshold(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 1
    server.interrupt()
    assert client.execute("EVAL", LOOP, 0) == b""
    server.handle_signal()
    server.finish_cycle()
    assert client.received().startswith(b"-ERR Script killed by user")
    assert server.shutdown_requested and not server.instance.is_torn


@pytest.mark.parametrize("ending", ["signal", "command"])
@pytest.mark.parametrize(
    "requests",
    [
        [("EVAL", WRITE, 0)],
        [("MULTI",), ("SET", "a", 1), ("EVAL", WRITE, 0), ("SET", "b", 1), ("EXEC",)],
        [("MULTI",), ("EVAL", LOOP, 0), ("EVAL", WRITE, 0), ("EXEC",)],
    ],
)
def test_a_script_that_has_written_leaves_nothing_when_the_server_ends(
    requests: list[tuple[str | int, ...]], ending: str
) -> None:
    server = InProcessServer(appendonly="yes", save="1 1")
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    client = server.connect()
    client.execute("SET", "before", 1)
    client.pipeline(*requests)
    assert server.dispatcher.script_runs.paused is not None
    if ending == "signal":
        server.handle_signal()
    else:
        server.connect().execute("SHUTDOWN", "NOSAVE")
    server.finish_cycle()
    assert server.shutdown_requested
    lines = [line for _, line in server.log_lines]
    assert "A script that had written was ended: its changes are dropped, unsaved." in lines
    assert server.propagated == [(0, [[b"SET", b"before", b"1"]])]
    again = server.restart()
    assert again.connect().execute("KEYS", "*") == b"*1\r\n$6\r\nbefore\r\n"


def test_a_transaction_whose_script_had_not_written_is_kept_when_the_server_ends(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.pipeline(("MULTI",), ("SET", "a", 1), ("EVAL", LOOP, 0), ("SET", "b", 1), ("EXEC",))
    server.connect().execute("SHUTDOWN", "NOSAVE")
    assert client.received().startswith(b"*3\r\n+OK\r\n-ERR Script killed by user")
    assert [len(unit) for _, unit in server.propagated] == [4]


def test_a_server_that_cannot_end_runs_scripts_again(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.instance.config.set("save", ["1", "1"])
    server.files.fail("create", 28)
    client.execute("EVAL", LOOP, 0)
    server.handle_signal()
    assert not server.shutdown_requested
    server.clock_step_us = 0
    assert client.execute("EVAL", "for i = 1, 30000 do end return 1", 0).endswith(b":1\r\n")


def test_a_script_in_a_file_does_not_pause_and_a_signal_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = InProcessServer(appendonly="yes")
    server.connect().execute("SET", "k", 1)
    files = server.files.kill()
    path = next(path for path in files.snapshot() if ".incr." in path)
    files.put(path, files.snapshot()[path] + command([b"EVAL", LOOP.encode(), b"0"]))
    monkeypatch.setattr(InProcessServer, "is_interrupted", lambda self: True)
    with pytest.raises(LoadFailed, match="'eval' at offset 50: ERR Script killed by user"):
        InProcessServer.on_files(files, appendonly="yes")
