"""Draws scripts that run for ever, or for long, in all the ways that Lua offers."""

from __future__ import annotations

import random

# What runs the code of FCALL's argument as a function of a library.
LIBRARY = """#!lua name=runner
redis.register_function('run', function(keys, arguments)
  return loadstring(arguments[1])()
end)"""

_MAX_DEPTH = 4
_SIZES = (10, 1000, 100_000, 1_000_000, 8_000_000)

# Values that the other statements work on.
_VALUES = """
local s = string.rep({text}, {bytes})
local t = {{}} for i = 1, {elements} do t[i] = {element} end
local e = {{}} for i = 1, {elements} do e[i] = i end for i = 1, {elements} do e[i] = nil end
local raw_next, n = pairs({{}}), 0
"""

# Statements with other statements in them, at each @.
_AROUND = (
    "while true do @ end",
    "repeat @ until false",
    "for _ = 1, 1e9 do @ end",
    "for _ = 1, 3 do @ end",
    "pcall(function() @ end)",
    "while true do pcall(function() @ end) end",
    "xpcall(function() @ end, function(problem) @ end)",
    "while true do xpcall(function() @ end, function(problem) @ error(problem) end) end",
    "pcall(coroutine.wrap(function() @ end))",
    "coroutine.wrap(function() @ coroutine.yield() @ end)()",
    "local c = coroutine.create(function() @ coroutine.yield() @ end)"
    " coroutine.resume(c) coroutine.resume(c)",
    "local c = coroutine.wrap(function() while true do pcall(function() @ end)"
    " coroutine.yield() end end) while true do pcall(c) end",
    "local x = setmetatable({}, {__index = function() @ end}).x",
    "setmetatable({}, {__newindex = function() @ end}).x = 1",
    "setmetatable({}, {__call = function() @ end})()",
    "tostring(setmetatable({}, {__tostring = function() @ return '' end}))",
    "local x = setmetatable({}, {__concat = function() @ end}) .. ''",
    "local x = setmetatable({}, {__add = function() @ end}) + 1",
    "error(setmetatable({}, {__index = function() @ end}))",
    "error(setmetatable({}, {__newindex = function() @ end}))",
    "table.sort({3, 1, 2}, function(a, b) @ return a < b end)",
    "table.foreach({1, 2}, function() @ end)",
    "string.gsub('abc', '%w', function() @ end)",
    "load(function() @ end)",
    "local function f() @ return pcall(f) end f()",
    "local function f() @ f() end pcall(f)",
    "local function f() @ return coroutine.wrap(f)() end pcall(f)",
    "if math.random() < 0.5 then @ else @ end",
    "do @ end @",
)

# Statements that end, though some take long.
_LEAVES = (
    "n = n + 1",
    "pcall(error)",
    "error('x')",
    "error({err = 'x', source = 5, line = {}})",
    "assert(false)",
    "redis.pcall('get', 'k')",
    "redis.pcall('nope')",
    "redis.call('get')",
    "local x = s < s .. 'x'",
    "local x = s .. 'a' < s .. 'b'",
    "pcall(function() return s + 1 end)",
    "tonumber(s)",
    "s:upper()",
    "s:reverse()",
    "s:sub(2)",
    "string.rep(s, 3)",
    "s:find('b')",
    "s:find('a-b')",
    "s:find('(a*)(a*)b')",
    "s:gsub('a', 'b')",
    "s:gsub('.', '%0%0')",
    "s:gsub('.', {a = 'b'})",
    "for word in s:gmatch('a') do n = n + 1 end",
    "string.format('%s', s)",
    "string.format('%q', s)",
    "table.concat(t, ',')",
    "pcall(table.sort, t)",
    "pcall(table.sort, t, function() return true end)",
    "table.insert(t, 1, 1)",
    "table.remove(t, 1)",
    "next(e)",
    "raw_next(e)",
    "for k in pairs(e) do n = n + 1 end",
    "n = n + 1 t[-n] = n t[1 - n] = nil",
    "local x = {} x[s] = t",
    "unpack(t, 1, 7000)",
    "cjson.encode(t)",
    "cjson.encode(s)",
    "pcall(cjson.decode, s)",
    "cmsgpack.pack(t, s)",
    "pcall(cmsgpack.unpack, s)",
    "struct.pack('s', s)",
    "pcall(struct.unpack, s, s)",
    "bit.band(n, 255)",
    "loadstring(s)",
    "pcall(loadstring('return ' .. string.rep('1+', 1000) .. '1'))",
    "string.dump(function() end)",
    "redis.sha1hex(s)",
    "collectgarbage()",
)
_WRITE = "redis.call('set', 'part', 1)"


class ScriptDrawing:
    """Scripts of one source of chance."""

    def __init__(self, chance: random.Random, sizes: tuple[int, ...] = _SIZES) -> None:
        self._chance = chance
        self._sizes = sizes  # of strings, in bytes, and tables, in elements

    def script(self) -> str:
        """The source of a script."""
        return self._values() + self._body(leaves=(*_LEAVES, _WRITE))

    def passage(self) -> str:
        """The source of a script that ends. If it writes, then last: it can be killed before."""
        last = self._chance.choice((_WRITE, "return n"))
        return self._values() + " ".join([*self._chance.choices(_LEAVES, k=3), last])

    def library(self) -> str:
        """The source of a library: what it can reach while it is loaded has only loops."""
        loops = tuple(
            text for text in _AROUND if text.startswith(("while true do @", "repeat", "for", "do"))
        )
        return self._statement(
            loops, ("redis.log(redis.LOG_DEBUG, 'x')", "local x = {} x = x .. ''")
        )

    def _values(self) -> str:
        chance = self._chance
        return _VALUES.format(
            text=chance.choice(["'a'", "'\\0'", "' '", "'7'", "'x=1;'"]),
            bytes=chance.choice(self._sizes),
            elements=chance.choice(self._sizes[:4]),
            element=chance.choice(["i", "1", "'k' .. i", "{}"]),
        )

    def _body(self, leaves: tuple[str, ...]) -> str:
        """Statements, the last of which never ends, if none before it does."""
        first = [self._statement(_AROUND, leaves) for _ in range(self._chance.randrange(2))]
        last = self._statement(_AROUND, leaves)
        return " ".join([*first, f"while true do pcall(function() {last} end) end"])

    def _statement(self, around: tuple[str, ...], leaves: tuple[str, ...], depth: int = 0) -> str:
        chance = self._chance
        if depth == _MAX_DEPTH or chance.random() < 0.3:
            return " ".join(chance.choices(leaves, k=chance.randrange(1, 3)))
        first, *rest = chance.choice(around).split("@")
        return first + "".join(self._statement(around, leaves, depth + 1) + text for text in rest)
