"""Which scripts are brief: those that are sure to end soon."""

from __future__ import annotations

import pytest
from lupa.lua51 import LuaRuntime

from benchmarks.cases.requests import SCRIPTS
from commands.scripting.brevity import is_brief


def dump(source: str) -> bytes:
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
    assert is_brief(dump(source))


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
    assert not is_brief(dump(source))


def test_other_bytecode_is_not_brief() -> None:
    assert not is_brief(b"\x1bLuaR rubbish")
