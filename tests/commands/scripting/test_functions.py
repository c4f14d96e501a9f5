"""FUNCTION LOAD, DELETE, FLUSH, LIST, STATS: the replies are those of redis-server 7.0.15.

FUNCTION DUMP and RESTORE: all or nothing.

FCALL and FCALL_RO.
"""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from storage.snapshot.payload import dump_libraries
from tests.commands.server.decoder import decode

LIBRARY = """#!lua name=lib
redis.register_function('f', function() end)
redis.register_function{
  function_name = 'g', callback = function() end, flags = {'no-writes'}, description = 'reads',
}
"""


def load(body: str) -> str:
    return f"#!lua name=l\n{body}"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("x", "Missing library metadata"),
        ("#!lua name=l", "Invalid library metadata"),
        ("#!lua\nx", "Library name was not given"),
        ("#!lua name=l x=1\nx", "Invalid metadata value given: x=1"),
        ("#!js name=l\nx", "Engine 'js' not found"),
        (load("local a = 1"), "No functions registered"),
        (load("x x"), "Error compiling function: user_function:2: '=' expected near 'x'"),
        (
            load("redis.register_function('a b', function() end)"),
            "Error registering functions: ERR Library names can only contain letters, numbers, or"
            " underscores(_) and must be at least one character long",
        ),
        (
            load("redis.call('get', 'k')"),
            "Error registering functions: ERR user_function:2: Script attempted to access"
            " nonexistent global variable 'call'",
        ),
    ],
)
def test_a_source_that_is_not_a_library_is_refused(
    client: InProcessClient, code: str, error: str
) -> None:
    assert client.execute("FUNCTION", "LOAD", code) == b"-ERR %b\r\n" % error.encode()


def test_a_library_may_use_the_names_of_valkey(client: InProcessClient) -> None:
    code = load(
        "server.register_function('count', function(k) return server.call('INCR', k[1]) end)"
    )
    assert client.execute("FUNCTION", "LOAD", code) == b"$1\r\nl\r\n"
    assert client.execute("FCALL", "count", 1, "k") == b":1\r\n"
    assert client.execute("EVAL", "return server == redis", 0) == b":1\r\n"
    listed = "for name in pairs(_G) do if name == 'server' then return 1 end end return 0"
    assert client.execute("EVAL", listed, 0) == b":0\r\n"
    too_early = load("server.call('GET', 'k')")
    assert b"variable 'call'" in client.execute("FUNCTION", "LOAD", "REPLACE", too_early)


def test_libraries_are_listed_with_their_functions(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    client.execute("FUNCTION", "LOAD", LIBRARY)
    (described,) = decode(client.execute("FUNCTION", "LIST", "LIBRARYNAME", "L*", "WITHCODE"))
    assert described[b"library_name"] == b"lib"
    assert described[b"library_code"] == LIBRARY.encode()
    by_name = {function[b"name"]: function for function in described[b"functions"]}
    assert by_name[b"g"][b"description"] == b"reads"
    assert by_name[b"f"][b"description"] is None
    assert client.execute("FUNCTION", "LIST", "LIBRARYNAME", "x*") == b"*0\r\n"


def test_changes_are_propagated_as_they_are_sent(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("FUNCTION", "LOAD", LIBRARY)
    client.execute("FUNCTION", "DELETE", "lib")
    client.execute("FUNCTION", "FLUSH", "ASYNC")
    assert client.execute("FUNCTION", "DELETE", "lib") == b"-ERR Library not found\r\n"
    assert [unit[0][1] for _, unit in server.propagated] == [b"LOAD", b"DELETE", b"FLUSH"]


@pytest.mark.parametrize("rewrites", [False, True])
@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_libraries_survive_a_restart(rewrites: bool, preamble: str) -> None:
    server = InProcessServer(appendonly="yes", aof_use_rdb_preamble=preamble)
    client = server.connect()
    client.execute("FUNCTION", "LOAD", LIBRARY)
    client.execute("SET", "k", "v")
    if rewrites:
        client.execute("BGREWRITEAOF")
        server.tick()
    again = server.restart().connect()
    assert again.execute("GET", "k") == b"$1\r\nv\r\n"
    assert again.execute("FCALL", "f", 0) == b"$-1\r\n"


def test_libraries_survive_in_snapshots_and_flushall() -> None:
    client = InProcessServer(enable_debug_command="yes").connect()
    client.execute("FUNCTION", "LOAD", LIBRARY)
    client.execute("FLUSHALL")
    assert client.execute("DEBUG", "RELOAD") == b"+OK\r\n"
    assert client.execute("FCALL", "f", 0) == b"$-1\r\n"


def test_stats_and_info_count_them(client: InProcessClient) -> None:
    client.execute("FUNCTION", "LOAD", LIBRARY)
    assert decode(client.execute("FUNCTION", "STATS"))[3][1][1] == 1
    info = client.execute("INFO", "memory")
    assert b"number_of_functions:2" in info and b"number_of_libraries:1" in info


def test_unknown_options_are_refused(client: InProcessClient) -> None:
    assert client.execute("FUNCTION", "LOAD", "x", LIBRARY) == b"-ERR Unknown option given: x\r\n"
    assert client.execute("FUNCTION", "LIST", "x") == b"-ERR Unknown argument x\r\n"
    assert client.execute("FUNCTION", "FLUSH", "x").startswith(b"-ERR FUNCTION FLUSH only supports")
    assert client.execute("FUNCTION", "KILL").startswith(b"-NOTBUSY ")
    assert b"LOAD [REPLACE]" in client.execute("FUNCTION", "HELP")


OURS = "#!lua name=ours\nredis.register_function('f', function() return 1 end)"
# As redis-server 7.0.15 dumps it.
THEIRS = (
    b"\xf59#!lua name=zz\nredis.register_function('a',function() end)\n\x00\x92\x87\x91\xc2{\xcc"
    b"\xe8\x1a"
)


def test_a_dump_is_restored_elsewhere(client: InProcessClient) -> None:
    client.execute("FUNCTION", "LOAD", OURS)
    payload = client.execute("FUNCTION", "DUMP").split(b"\r\n", 1)[1][:-2]
    other = InProcessServer().connect()
    assert other.execute("FUNCTION", "RESTORE", payload) == b"+OK\r\n"
    assert other.execute("FCALL", "f", 0) == b":1\r\n"


@pytest.mark.parametrize(("policy", "remaining"), [("APPEND", 2), ("REPLACE", 2), ("FLUSH", 1)])
def test_policies_decide_which_libraries_remain(
    client: InProcessClient, policy: str, remaining: int
) -> None:
    client.execute("FUNCTION", "LOAD", OURS)
    assert client.execute("FUNCTION", "RESTORE", THEIRS, policy) == b"+OK\r\n"
    assert client.execute("FUNCTION", "LIST").count(b"library_name") == remaining
    assert client.execute("FCALL", "a", 0) == b"$-1\r\n"


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"x", b"-ERR DUMP payload version or checksum are wrong\r\n"),
        (THEIRS[:-1] + b"x", b"-ERR DUMP payload version or checksum are wrong\r\n"),
        (THEIRS, b"-ERR Library zz already exists\r\n"),
        (dump_libraries([b"x"], compress=False), b"-ERR Missing library metadata\r\n"),
    ],
)
def test_a_payload_that_cannot_be_restored_changes_nothing(
    client: InProcessClient, payload: bytes, error: bytes
) -> None:
    client.execute("FUNCTION", "RESTORE", THEIRS)
    before = client.execute("FUNCTION", "LIST", "WITHCODE")
    assert client.execute("FUNCTION", "RESTORE", payload) == error
    assert client.execute("FUNCTION", "LIST", "WITHCODE") == before


def test_functions_must_not_collide_with_those_of_other_libraries(client: InProcessClient) -> None:
    client.execute(
        "FUNCTION", "LOAD", "#!lua name=yy\nredis.register_function('a', function() end)"
    )
    expected = b"-ERR Function a already exists\r\n"
    assert client.execute("FUNCTION", "RESTORE", THEIRS, "REPLACE") == expected
    assert client.execute("FUNCTION", "RESTORE", THEIRS, "FLUSH") == b"+OK\r\n"


def test_the_payload_of_a_value_is_refused(client: InProcessClient) -> None:
    client.execute("SET", "k", "v")
    payload = client.execute("DUMP", "k").split(b"\r\n", 1)[1][:-2]
    expected = b"-ERR given type is not a function\r\n"
    assert client.execute("FUNCTION", "RESTORE", payload) == expected


CALLED_LIBRARY = """#!lua name=l
redis.register_function('echo', function(keys, args) return {keys, args} end)
redis.register_function('put', function(keys) return redis.call('set', keys[1], 1) end)
redis.register_function{
  function_name = 'look', callback = function(keys) return redis.call('get', keys[1]) end,
  flags = {'no-writes'},
}
redis.register_function('long', function() while true do end end)
"""


@pytest.fixture
def loaded(client: InProcessClient) -> None:
    client.execute("FUNCTION", "LOAD", CALLED_LIBRARY)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("count", [1, 1000])
def test_a_function_gets_its_keys_and_arguments(client: InProcessClient, count: int) -> None:
    reply = client.execute("FCALL", "echo", 1, "k", *["a"] * count)
    assert reply == b"*2\r\n*1\r\n$1\r\nk\r\n*%d\r\n" % count + b"$1\r\na\r\n" * count


@pytest.mark.usefixtures("loaded")
def test_read_only_calls_need_the_flag_no_writes(client: InProcessClient) -> None:
    assert client.execute("FCALL", "put", 1, "k") == b"+OK\r\n"
    assert client.execute("FCALL_RO", "look", 1, "k") == b"$1\r\n1\r\n"
    assert client.execute("FCALL_RO", "put", 1, "k") == (
        b"-ERR Can not execute a script with write flag using *_ro command.\r\n"
    )


@pytest.mark.usefixtures("loaded")
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


@pytest.mark.usefixtures("loaded")
def test_the_changes_of_a_function_are_propagated_and_not_its_call(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.propagated.clear()
    client.execute("FCALL", "put", 1, "k")
    assert server.propagated == [(0, [[b"set", b"k", b"1"]])]


@pytest.mark.usefixtures("loaded")
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
