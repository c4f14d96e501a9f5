"""The matcher in Lua finds the same as Lua's own, and can be stopped."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from lupa.lua51 import LuaRuntime

from server.inprocess.server import InProcessClient

SOURCE = Path(__file__).parents[3] / "commands/scripting/lua/patterns.lua"
ITEMS = [
    "a", "b", ".", "%a", "%d", "%s", "[ab]", "[^a]", "[a-c%d]", "%.", "x", "%f[%w]", "%b()", "()",
    "(a)", "(.)", "(", ")", "%1", "$", "^", "[%]]", "[]]", "%", "[a",
]  # fmt: skip
SIGNS = ["", "", "", "*", "+", "-", "?"]
SUBJECTS = ["", "a", "aab", "ab1 (x(y)z) b", "a.b-c", "aaaa", "(()", "x]y", "aXbX\0c"]
REPLACEMENTS = ["<%0>", "%1", "-", "%%", "%9", ""]


@pytest.fixture(scope="module")
def both() -> tuple[Any, Any]:
    """Calls our function and Lua's own: their results, or the errors' texts."""
    lua = LuaRuntime(encoding=None, unpack_returned_tuples=True)
    load = lua.execute(
        b"""return function(source, find)
            local native = {work_limit = -1, look = function() end,
              fail = function(name, f, ...) return f(...) end}
            local ours = assert(loadstring(source, '=rillway'))({find = find}, native)
            local function call(library)
              return function(name, ...)
                if name == 'gmatch' then
                  local found = {}
                  local ok, problem = pcall(function(...)
                    for a, b in library.gmatch(...) do
                      found[#found + 1] = tostring(a) .. tostring(b)
                      if #found > 100 then break end
                    end
                  end, ...)
                  return ok, ok and table.concat(found, '|') or problem
                end
                return pcall(library[name], ...)
              end
            end
            return call(ours), call(string)
        end"""
    )
    ours, theirs = load(SOURCE.read_bytes(), bytes.find)
    return ours, theirs


def test_random_patterns_match_alike(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    rng = random.Random(1)
    for _ in range(4000):
        parts = [rng.choice(ITEMS) + rng.choice(SIGNS) for _ in range(rng.randint(1, 5))]
        pattern, subject = "".join(parts).encode(), rng.choice(SUBJECTS).encode()
        for name, *rest in (
            ("find", rng.choice([1, 2, -2, 10])), ("match",), ("gmatch",),
            ("gsub", rng.choice(REPLACEMENTS).encode(), rng.choice([0, 1, 100])),
        ):  # fmt: skip
            expected = theirs(name.encode(), subject, pattern, *rest)
            found = ours(name.encode(), subject, pattern, *rest)
            if expected[0] is False:
                # The texts differ in their prefix, and in which of two errors comes first.
                assert found[0] is False or b"malformed" in expected[1], (name, subject, pattern)
            else:
                assert found == expected, (name, subject, pattern, rest)


@pytest.mark.parametrize(
    "script",
    [
        "return string.find(string.rep('a', 100000), string.rep('a-', 20) .. 'b')",
        "return string.find(string.rep('a', 100), string.rep('a?', 100) .. string.rep('a', 100))",
        "return string.match(string.rep('a', 10000), '(.-)(.-)(.-)b')",
        "return string.gsub(string.rep('a', 10000), '.-.-.-b', '')",
        "for _ in string.gmatch(string.rep('a', 10000), '.-.-.-b') do end",
        "return string.find('x', string.rep('a?', 1000000))",
    ],
)
def test_expensive_patterns_are_paused_and_can_be_killed(
    client: InProcessClient, script: str
) -> None:
    server = client.server
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    if client.execute("EVAL", script, 0):
        return  # it ended without a kill
    server.connect().execute("SCRIPT", "KILL")
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received().startswith(b"-ERR Script killed")


def test_long_plain_searches_take_linear_time(client: InProcessClient) -> None:
    script = """
        local text, wanted = string.rep('a', 1000000), string.rep('a', 500000) .. 'b'
        return {tostring(string.find(text, wanted, 1, true)), (string.find(text .. 'b', wanted))}
    """
    assert client.execute("EVAL", script, 0) == b"*2\r\n$3\r\nnil\r\n:500001\r\n"
