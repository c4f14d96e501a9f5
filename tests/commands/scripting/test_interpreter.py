"""The interpreter: memory, errors, and values between Python and Lua."""

from __future__ import annotations

import pytest

from commands.scripting import interpreter as module
from commands.scripting.interpreter import CompileError, Failure, Interpreter
from commands.scripting.scripting_state import Scripting
from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def interpreter(server: InProcessServer) -> Interpreter:
    return server.instance.feature(Scripting).interpreter


def test_source_that_is_not_lua_is_refused(interpreter: Interpreter) -> None:
    with pytest.raises(CompileError, match="near 'x'"):
        interpreter.compile(b"x x", b"@user_script")


def test_bytecode_is_refused(interpreter: Interpreter) -> None:
    with pytest.raises(CompileError, match="unexpected symbol near 'char"):
        interpreter.compile(b"\x1bLuaQ\x00", b"@user_script")


def test_a_script_that_fails_says_where(interpreter: Interpreter) -> None:
    function = interpreter.compile(b"\nerror('x')", b"@user_script")
    failure = interpreter.run_script(function, 2, [], [])
    assert failure == Failure(b"ERR user_script:2: x", b"@user_script", b"2")


def test_memory_that_a_script_held_is_free_for_the_next(
    interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_BYTES", 8 * 1024 * 1024)
    interpreter.collect()
    source = b"local t = {} for i = 1, 1e7 do t[i] = i .. 'x' end"
    function = interpreter.compile(source, b"@user_script")
    failure = interpreter.run_script(function, 2, [], [])
    assert isinstance(failure, Failure) and failure.text.startswith(b"ERR not enough memory")
    good = interpreter.compile(b"return string.rep('x', 1000000)", b"@user_script")
    for _ in range(20):
        assert len(bytes(interpreter.run_script(good, 2, [], []))) > 1_000_000  # type: ignore[arg-type]


def test_a_reply_that_does_not_fit_is_an_error_and_no_crash(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_BYTES", 8 * 1024 * 1024)
    client.execute("SET", "k", "x" * 10_000_000)
    server.instance.feature(Scripting).interpreter.collect()
    reply = client.execute("EVAL", "return redis.call('get', 'k')", 0)
    assert reply.startswith(b"-ERR not enough memory")
    assert client.execute("EVAL", "return 1", 0) == b":1\r\n"


def test_arguments_that_do_not_fit_are_refused(
    interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_BYTES", 8 * 1024 * 1024)
    interpreter.collect()
    function = interpreter.compile(b"return #ARGV", b"@user_script")
    huge = [b"x" * 10_000_000]
    assert interpreter.run_script(function, 2, [], huge) == Failure(b"ERR not enough memory")
    assert interpreter.run_script(function, 2, [], [b"x"]) == b":1\r\n"
