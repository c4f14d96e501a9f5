"""FUNCTION LOAD, DELETE, FLUSH, LIST, STATS: the replies are those of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
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
