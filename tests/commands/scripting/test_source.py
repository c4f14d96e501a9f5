"""The first line of a script.

Tail calls become plain calls, and functions still return the same.

Which scripts are brief: those that are sure to end soon.
"""

from __future__ import annotations

import pytest
from lupa.lua51 import LuaRuntime

from benchmarks.cases.requests import SCRIPTS
from commands.scripting.source import is_brief, keep_callers, parse_library, parse_script
from protocol.errors import ReplyError


def test_a_script_without_a_shebang_is_its_own_source() -> None:
    parsed = parse_script(b"return 1")
    assert (parsed.source, parsed.flags, parsed.has_shebang) == (b"return 1", frozenset(), False)


def test_the_line_of_a_shebang_counts_in_line_numbers() -> None:
    parsed = parse_script(b"#!lua flags=no-writes,allow-oom\nreturn 1")
    assert parsed.source == b"\nreturn 1"
    assert parsed.flags == {b"no-writes", b"allow-oom"}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"#!lua", b"ERR Invalid script shebang"),
        (b"#!py\nx", b"ERR Unexpected engine in script shebang: #!py"),
        (b"#!lua flags=no\nx", b"ERR Unexpected flag in script shebang: no"),
        (b"#!lua name=x\nx", b"ERR Unknown lua shebang option: name=x"),
    ],
)
def test_other_first_lines_are_refused(body: bytes, error: bytes) -> None:
    with pytest.raises(ReplyError) as raised:
        parse_script(body)
    assert raised.value.text == error


@pytest.mark.parametrize(
    ("first", "engine"),
    [
        (b"#! name=x", b""),
        (b'#!"" name=x', b""),
        (b"#!lua name=x", b"lua"),
        (b"#!LUA name=x", b"LUA"),
    ],
)
def test_the_engine_of_a_library_may_be_empty(first: bytes, engine: bytes) -> None:
    parsed = parse_library(first + b"\nx")
    assert (parsed.engine, parsed.name, parsed.source) == (engine, b"x", b"\nx")


@pytest.mark.parametrize("first", [b"#!", b"#! ", b"#!lua"])
def test_a_library_needs_a_name(first: bytes) -> None:
    with pytest.raises(ReplyError) as raised:
        parse_library(first + b"\nx")
    assert raised.value.text == b"ERR Library name was not given"


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


def bytecode_of(source: str) -> bytes:
    lua = LuaRuntime(encoding=None)
    dumped: bytes = lua.execute(
        b"return function(s) return string.dump(assert(loadstring(s))) end"
    )(source.encode())
    return dumped


@pytest.mark.parametrize(
    "source",
    [
        "return {1, 'a', KEYS[1], #ARGV, ARGV[1] .. 'x'}",
        "local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('DEL', 'a') end return n",
        "local call = redis.call if ARGV[1] then call('GET', 'a') else call('GET', 'b') end",
        "return server.call('GET', KEYS[1])",
        "return math.max(tonumber(ARGV[1]) or 0, 5)",
        "return string.format('%s', KEYS[1])",
        *SCRIPTS.values(),
    ],
)
def test_few_instructions_that_call_listed_functions_are_brief(source: str) -> None:
    assert is_brief(bytecode_of(source))


@pytest.mark.parametrize(
    "source",
    [
        "while true do end",
        "repeat local n = 1 until false",
        "for i = 1, 10 do local n = 1 end",
        "for k in pairs(KEYS) do local n = 1 end",
        "local function f() return f() end f()",
        "pcall(loadstring(ARGV[1]))",
        "_G['load' .. 'string'](ARGV[1])()",
        "return ARGV[1]:find('.-.-.-b')",
        "return ARGV[1].find(ARGV[1], '.-.-.-b')",
        "return redis[ARGV[1]]('x')",
        "local f = ARGV[1].rep if KEYS[1] then f = tonumber end return f('x', 1e9)",
        "return cjson.encode(ARGV)",
        "return string.rep('a', 1e8)",
        "return pcall(string.rep, 'a', 1e8)",
        "local a = ARGV[1] " + "a = a .. a " * 500,
        "return {" + "1," * 30_000 + "}",
    ],
)
def test_what_may_take_long_is_not_brief(source: str) -> None:
    assert not is_brief(bytecode_of(source))


def test_other_bytecode_is_not_brief() -> None:
    assert not is_brief(b"\x1bLuaR rubbish")
