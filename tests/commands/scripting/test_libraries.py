"""Libraries: all or nothing, and in an interpreter of their own."""

from __future__ import annotations

from typing import Any

import pytest

from commands.scripting.evaluation import Scripting
from server.inprocess.server import InProcessClient, InProcessServer

COUNTER = "#!lua name=counter\nlocal n = 0 redis.register_function('next', function() n = n + 1 return n end)"  # noqa: E501


def test_a_librarys_variables_persist_between_calls(client: InProcessClient) -> None:
    assert client.execute("FUNCTION", "LOAD", COUNTER) == b"$7\r\ncounter\r\n"
    assert [client.execute("FCALL", "next", 0) for _ in range(2)] == [b":1\r\n", b":2\r\n"]
    assert client.execute("SCRIPT", "FLUSH") == b"+OK\r\n"
    assert client.execute("FCALL", "next", 0) == b":3\r\n"
    assert client.execute("FUNCTION", "LOAD", "REPLACE", COUNTER) == b"$7\r\ncounter\r\n"
    assert client.execute("FCALL", "next", 0) == b":1\r\n"


@pytest.mark.parametrize(
    "code",
    [
        "#!lua name=counter\nx x",
        "#!lua name=counter\nredis.nope()",
        "#!lua name=counter\nredis.register_function('taken', function() end)",
        "#!lua name=counter\nlocal a = 1",
    ],
)
def test_a_library_that_cannot_be_replaced_stays(client: InProcessClient, code: str) -> None:
    other = "#!lua name=other\nredis.register_function('taken', function() return 5 end)"
    client.execute("FUNCTION", "LOAD", COUNTER)
    client.execute("FUNCTION", "LOAD", other)
    client.execute("FCALL", "next", 0)
    assert client.execute("FUNCTION", "LOAD", "REPLACE", code).startswith(b"-ERR ")
    assert client.execute("FCALL", "next", 0) == b":2\r\n"
    assert client.execute("FCALL", "taken", 0) == b":5\r\n"


@pytest.mark.parametrize(
    ("callback", "is_brief"),
    [
        ("function(keys) return redis.call('GET', keys[1]) end", True),
        ("function() for i = 1, 2 do tonumber(i) end end", False),
        ("function() return t.x end", False),  # which may have a metamethod that never ends
        ("('').len", False),
    ],
)
def test_a_function_that_is_sure_to_end_soon_is_brief(
    server: InProcessServer, client: InProcessClient, callback: str, is_brief: bool
) -> None:
    code = f"#!lua name=l\nlocal t = {{}} redis.register_function('f', {callback})"
    assert client.execute("FUNCTION", "LOAD", code) == b"$1\r\nl\r\n"
    function = server.instance.feature(Scripting).libraries.functions[b"f"].callback
    assert function is not None and function.is_brief == is_brief


def test_loading_takes_half_a_second_at_most(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.clock_step_us = 600_000
    reply = client.execute("FUNCTION", "LOAD", "#!lua name=l\nwhile true do end")
    assert reply == b"-ERR Error registering functions: ERR FUNCTION LOAD timeout\r\n"
    assert client.execute("FUNCTION", "LOAD", COUNTER) == b"$7\r\ncounter\r\n"


def test_functions_cannot_register_functions(client: InProcessClient) -> None:
    code = """#!lua name=l
        local register = redis.register_function
        register('f', function() return register('g', function() end) end)
    """
    client.execute("FUNCTION", "LOAD", code)
    assert client.execute("FCALL", "f", 0).startswith(
        b"-ERR redis.register_function can only be called on FUNCTION LOAD command"
    )


def library(name: str, *functions: str) -> str:
    registered = "".join(
        f"redis.register_function('{function}', function() return '{function}' end)\n"
        for function in functions
    )
    return f"#!lua name={name}\n{registered}"


def test_the_names_of_functions_are_compared_without_case(client: InProcessClient) -> None:
    assert client.execute("FUNCTION", "LOAD", library("one", "Fun")) == b"$3\r\none\r\n"
    for spelling in ("Fun", "fun", "FUN"):
        assert client.execute("FCALL", spelling, 0) == b"$3\r\nFun\r\n"
    reply = client.execute("FUNCTION", "LOAD", library("two", "fUN"))
    assert reply == b"-ERR Function fUN already exists\r\n"
    assert client.execute("FUNCTION", "LOAD", "REPLACE", library("one", "FUN", "fun"))
    assert client.execute("FCALL", "Fun", 0) == b"$3\r\nFUN\r\n"
    assert client.execute("FUNCTION", "LOAD", library("ONE", "other")) == b"$3\r\nONE\r\n"
    assert client.execute("FUNCTION", "DELETE", "one") == b"+OK\r\n"
    assert client.execute("FCALL", "fun", 0) == b"-ERR Function not found\r\n"
    assert client.execute("FCALL", "Other", 0) == b"$5\r\nother\r\n"


def test_libraries_of_a_payload_do_not_share_names_of_functions_in_any_case(
    client: InProcessClient,
) -> None:
    client.execute("FUNCTION", "LOAD", library("one", "fun"))
    payload = client.execute("FUNCTION", "DUMP").split(b"\r\n", 1)[1][:-2]
    client.execute("FUNCTION", "FLUSH")
    client.execute("FUNCTION", "LOAD", library("two", "FUN"))
    reply = client.execute("FUNCTION", "RESTORE", payload)
    assert reply == b"-ERR Function FUN already exists\r\n"
    assert client.execute("FCALL", "fun", 0) == b"$3\r\nFUN\r\n"


def test_loading_a_library_does_not_touch_the_others(
    server: InProcessServer, client: InProcessClient
) -> None:
    class Watched(dict[bytes, object]):
        visits = 0

        def items(self) -> Any:
            Watched.visits += 1
            return super().items()

    client.execute("FUNCTION", "LOAD", library("one", "a", "b"))
    libraries = server.instance.feature(Scripting).libraries
    libraries.by_name[b"one"].functions = Watched(libraries.by_name[b"one"].functions)  # type: ignore[assignment]
    client.execute("FUNCTION", "LOAD", library("two", "c"))
    client.execute("FUNCTION", "DELETE", "two")
    assert Watched.visits == 0
    assert client.execute("FCALL", "a", 0) == b"$1\r\na\r\n"
