"""Tail calls become plain calls, and functions still return the same."""

from __future__ import annotations

import pytest
from lupa.lua51 import LuaRuntime

from commands.scripting.bytecode import keep_callers


@pytest.fixture
def lua() -> LuaRuntime:
    return LuaRuntime(encoding=None)


def dump(lua: LuaRuntime, source: bytes) -> bytes:
    dumped: bytes = lua.execute(
        b"return function(s) return string.dump(assert(loadstring(s))) end"
    )(source)
    return dumped


def test_a_function_without_tail_calls_stays_as_it_is(lua: LuaRuntime) -> None:
    assert keep_callers(dump(lua, b"local a = f(1) return a")) is None


def test_other_bytecode_stays_as_it_is() -> None:
    assert keep_callers(b"\x1bLuaR rubbish") is None


def test_a_patched_function_returns_the_same(lua: LuaRuntime) -> None:
    source = b"""
        local text, yes, number = 'x', true, 1.5
        local function inner(...) return select('#', ...), ... end
        local function outer(...) return inner(...) end
        return (function() return outer(text, yes, number) end)()
    """
    patched = keep_callers(dump(lua, source))
    assert patched is not None
    run = lua.execute(b"return function(s) return assert(loadstring(s))() end")
    assert run(patched) == (3, b"x", True, 1.5)


def test_the_caller_of_a_patched_call_can_be_seen(lua: LuaRuntime) -> None:
    source = b"return (...)()"
    level = lua.execute(b"return function() return debug.getinfo(2, 'l').currentline end")
    load = lua.execute(b"return loadstring")
    assert load(source)(level) == -1  # unknown to Lua
    patched = keep_callers(dump(lua, source))
    assert load(patched)(level) == 1
