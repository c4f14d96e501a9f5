"""Published ways out of a Lua sandbox: each is refused or harmless, and the server goes on."""

from __future__ import annotations

from itertools import count

import pytest

from commands.scripting import interpreter
from protocol.replies import bulk
from server.inprocess.server import InProcessClient, InProcessServer

READ_ONLY = b"Attempt to modify a readonly table"
NONE = b"nonexistent global variable"
MANY = b"too many results to unpack"


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small limit, so that scripts reach it soon."""
    monkeypatch.setattr(interpreter, "MEMORY_BYTES", 32 * 1024 * 1024)


REFUSED = [
    # nothing of the host
    *((f"return {name}", NONE) for name in (
        "io", "debug", "package", "require", "module", "dofile", "loadfile", "print", "python",
        "lupa", "getfenv", "setfenv", "newproxy", "jit", "ffi", "__redis__err__handler",
    )),
    ("return os.execute('true')", b"attempt to call field 'execute'"),
    ("return os.getenv('HOME')", b"attempt to call field 'getenv'"),
    # CVE-2022-24735, CVE-2025-46818: what scripts share cannot be changed
    ("string.format = 1", READ_ONLY),
    ("_G.x = 1", READ_ONLY),
    ("x = 1", READ_ONLY),
    ("_G = 1", READ_ONLY),
    ("redis.call = nil", READ_ONLY),
    ("cjson.null = 1", READ_ONLY),
    ("rawset(_G, 'x', 1)", READ_ONLY),
    ("rawset(string, 'x', 1)", READ_ONLY),
    ("setmetatable(_G, {})", READ_ONLY),
    ("setmetatable(math, nil)", READ_ONLY),
    ("table.insert(string, 1)", READ_ONLY),
    ("getmetatable('').__index = {}", READ_ONLY),
    ("getmetatable('').__concat = function() end", READ_ONLY),
    ("getmetatable(_G).__index = {}", READ_ONLY),
    ("rawset(getmetatable(''), '__index', 1)", READ_ONLY),
    ("for _, t in pairs(_G) do if type(t) == 'table' then rawset(t, 'x', 1) end end", READ_ONLY),
    ("local _, t = pairs(string) t.x = 1", READ_ONLY),
    ("local _, t = pairs(_G) rawset(t, 'x', 1)", READ_ONLY),
    # CVE-2025-46817: bounds that overflow
    ("return unpack({}, 1, 2147483647)", MANY),
    ("return unpack({}, -2147483648, 2147483647)", MANY),
    ("return unpack({}, 0, 1e308)", MANY),
    ("return {string.byte(string.rep('x', 1e7), 1, -1)}", b"string slice too long"),
    # memory
    ("return string.rep('x', 2^31)", b"not enough memory"),
    ("local s = string.rep('x', 1e8) return s .. s .. s", b"not enough memory"),
    ("local t = {} for i = 1, 1e8 do t[i] = {i} end", b"not enough memory"),
    ("return table.concat({string.rep('x', 1e8), string.rep('y', 1e8)})", b"not enough memory"),
    ("local s = 'x' while true do s = s .. s end", b"not enough memory"),
    ("local s = 'x' while true do s = s:gsub('x', 'xx') end", b"not enough memory"),
    # the stack: CVE-2022-24736, CVE-2021-32626
    ("local function f() return 1 + f() end return f()", b"stack overflow"),
    ("return loadstring(string.rep('(', 1e5))()", b"attempt to call a nil value"),
    ("local t = {} t[1] = t return cjson.encode(t)", b"excessive nesting"),
    ("return cjson.decode(string.rep('[', 1e5))", b"too many nested data structures"),
    ("return cmsgpack.unpack(string.rep('\\145', 1e5))", b"input"),
    ("return struct.pack('!3i', 1)", b"power of 2"),
    ("return struct.pack('i999', 1)", b"larger than limit"),
    ("return struct.unpack(string.rep('b', 1e5), string.rep('x', 1e5))", b"too many results"),
    # bytecode
    ("return assert(loadstring(string.dump(function() end)))", b"unexpected symbol"),
    ("local n = 0 return assert(load(function() n = n + 1 return n == 1 and '\\27Lua' or nil end))",
     b"unexpected symbol"),
    ("return load(function() return 'x' end)", b"not enough memory"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "error"), REFUSED)
def test_known_attacks_are_refused(client: InProcessClient, script: str, error: bytes) -> None:
    reply = client.execute("EVAL", script, 0)
    assert reply.startswith(b"-") and error in reply, reply[:200]
    assert client.execute("EVAL", "return ('x'):upper() .. #KEYS", 0) == b"$2\r\nX0\r\n"


HARMLESS = [
    # CVE-2024-31449: bit.tohex with a number of digits of INT_MIN
    ("return bit.tohex(65535, -2147483648)", b"$8\r\n0000FFFF\r\n"),
    # CVE-2022-24834: lengths in cjson and cmsgpack
    ("return #cjson.encode(string.rep('\"', 1e6))", b":2000002\r\n"),
    ("return #cmsgpack.pack(string.rep('x', 1e6))", b":1000005\r\n"),
    # CVE-2025-46819: long brackets
    ("return tostring(loadstring('[' .. string.rep('=', 1e6)))", b"$3\r\nnil\r\n"),
    # CVE-2025-49844: a chunk's name, collected while it is parsed
    (
        "for i = 1, 100 do loadstring(string.rep('local a = {} ', 100), 'n' .. i .. '\\0x')"
        " collectgarbage() end return 1",
        b":1\r\n",
    ),
    # CVE-2024-46981: the collector, and finalizers
    ("setmetatable({}, {__gc = function() error('x') end}) collectgarbage() return 1", b":1\r\n"),
    # garbage that is large
    ("local s = string.rep('x', 2e6) for i = 1, 200 do local t = s .. i end return 1", b":1\r\n"),
    ("local s = string.rep('x', 2e6) for i = 1, 200 do local t = s:sub(i) end return 1", b":1\r\n"),
    ("return collectgarbage('stop')", b":0\r\n"),
    ("return tostring(getmetatable(cjson.null))", b"$3\r\nnil\r\n"),
    ("return type(redis.call) .. type(cjson.encode)", b"$16\r\nfunctionfunction\r\n"),
    ("return tostring(pcall(string.dump, redis.sha1hex))", b"$4\r\ntrue\r\n"),
    ("return {pcall(error)}", b"*1\r\n$-1\r\n"),
    ("local ok, e = pcall(redis.call, {}) return type(e)", b"$6\r\nstring\r\n"),
    ("local ok, e = pcall(redis.sha1hex, {}) return type(e)", b"$6\r\nstring\r\n"),
]


@pytest.mark.parametrize(("script", "reply"), HARMLESS)
def test_known_attacks_are_harmless(client: InProcessClient, script: str, reply: bytes) -> None:
    assert client.execute("EVAL", script, 0) == reply
    assert client.execute("EVAL", "return ('x'):upper() .. #KEYS", 0) == b"$2\r\nX0\r\n"


def test_no_value_that_scripts_reach_is_a_python_object(client: InProcessClient) -> None:
    script = """
        local seen, bad = {}, {}
        local function walk(value, path)
          local kind = type(value)
          if kind == 'userdata' and value ~= cjson.null then bad[#bad + 1] = path end
          if kind ~= 'table' or seen[value] then return end
          seen[value] = true
          walk(getmetatable(value), path .. '(metatable)')
          for key, item in pairs(value) do
            walk(key, path .. '(key)')
            walk(item, path .. '.' .. tostring(key))
          end
        end
        walk(_G, '_G')
        walk(getmetatable(''), 'string metatable')
        for _, name in ipairs({'call', 'pcall', 'log', 'setresp', 'acl_check_cmd'}) do
          for _, argument in ipairs({1, 'x', {}, walk, true}) do
            local ok, problem = pcall(redis[name], argument, argument)
            walk(problem, name)
          end
        end
        return bad
    """
    assert client.execute("EVAL", script, 0) == b"*0\r\n"


@pytest.mark.parametrize("text", ["x", "abc", "0123456789" * 1100])
def test_long_repetitions_are_made_of_their_halves(client: InProcessClient, text: str) -> None:
    for times in (0, 1, 2, 3, 4999, 10000, 10001, 10007):
        if times * len(text) < 40_000 or times < 10:
            reply = client.execute("EVAL", "return string.rep(ARGV[1], ARGV[2])", 0, text, times)
            assert reply == bulk(text.encode() * times)


# What the settings of libraries decide, as one text.
PROBE = """
local function shown(...)
  local ok, value = pcall(...)
  return tostring(ok) .. tostring(value)
end
return table.concat({
  shown(cjson.decode, string.rep('[', 500) .. string.rep(']', 500)):sub(1, 5),
  shown(cjson.encode, {{{1}}}), shown(cjson.encode, {[99] = 1}), shown(cjson.encode, 1 / 3),
  shown(cjson.encode, 0 / 0), shown(cjson.decode, '[NaN]'):sub(1, 5),
  tostring(cjson.encode_keep_buffer()), tostring(cjson.decode_max_depth()),
}, ' ')
"""
SETTINGS = (
    "cjson.decode_max_depth(1)",
    "cjson.encode_max_depth(1)",
    "cjson.encode_sparse_array(true, 1, 1)",
    "cjson.encode_number_precision(1)",
    "cjson.encode_invalid_numbers('null')",
    "cjson.encode_invalid_numbers(true)",
    "cjson.decode_invalid_numbers(false)",
    "cjson.encode_keep_buffer(false)",
    "pcall(cjson.encode_sparse_array, true, 'x')",
)
LIBRARY = "#!lua name=l\nredis.register_function('probe', function()%s end)"


@pytest.mark.parametrize("ending", ["", "error('x')", "return cjson.decode('[')"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_of_cjson_is_that_of_one_call(
    client: InProcessClient, setting: str, ending: str
) -> None:
    usual = client.execute("EVAL", PROBE, 0)
    assert client.execute("EVAL", setting + PROBE, 0) != usual
    client.execute("EVAL", f"{setting} {ending}", 0)
    assert client.execute("EVAL", PROBE, 0) == usual


def test_a_setting_of_cjson_ends_with_a_script_that_is_killed(
    server: InProcessServer, client: InProcessClient
) -> None:
    usual = client.execute("EVAL", PROBE, 0)
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    assert client.execute("EVAL", "cjson.decode_max_depth(1) while true do end", 0) == b""
    server.connect().execute("SCRIPT", "KILL")
    server.dispatcher.script_runs.go_on()
    server.finish_cycle()
    assert client.received().startswith(b"-ERR Script killed by user")
    server.clock_step_us = 0
    assert client.execute("EVAL", PROBE, 0) == usual


def test_a_setting_of_cjson_ends_with_a_script_that_has_no_memory_left(
    client: InProcessClient,
) -> None:
    usual = client.execute("EVAL", PROBE, 0)
    filling = "cjson.decode_max_depth(1) local t = {} for i = 1, 1e8 do t[i] = {i} end"
    assert b"not enough memory" in client.execute("EVAL", filling, 0)
    assert client.execute("EVAL", PROBE, 0) == usual


def test_a_setting_of_cjson_is_that_of_one_call_of_a_function(client: InProcessClient) -> None:
    client.execute("FUNCTION", "LOAD", LIBRARY % PROBE)
    usual = client.execute("FCALL", "probe", 0)
    setter = LIBRARY.replace("=l", "=m").replace("probe", "set") % " cjson.encode_max_depth(1)"
    client.execute("FUNCTION", "LOAD", setter)
    assert client.execute("FCALL", "set", 0) == b"$-1\r\n"
    assert client.execute("FCALL", "probe", 0) == usual


def test_a_function_can_keep_a_cjson_with_settings_of_its_own(client: InProcessClient) -> None:
    body = """
      json = json or cjson.new()
      json.decode_max_depth(json.decode_max_depth() - 1)
      return {json.decode_max_depth(), cjson.decode_max_depth(), cjson.new().decode_max_depth()}
    """
    client.execute("FUNCTION", "LOAD", (LIBRARY % body).replace("\n", "\nlocal json ", 1))
    assert client.execute("FCALL", "probe", 0) == b"*3\r\n:999\r\n:1000\r\n:1000\r\n"
    assert client.execute("FCALL", "probe", 0) == b"*3\r\n:998\r\n:1000\r\n:1000\r\n"


def test_a_seed_is_that_of_one_script(client: InProcessClient) -> None:
    number = "return tostring(math.random())"
    first, second = (client.execute("EVAL", number, 0) for _ in range(2))
    client.execute("SCRIPT", "FLUSH")
    with_seed = client.execute("EVAL", f"math.randomseed(7) {number}", 0)
    assert client.execute("EVAL", number, 0) == first != with_seed
    assert client.execute("EVAL", f"math.randomseed(7) {number}", 0) == with_seed
    assert client.execute("EVAL", number, 0) == second


def test_a_script_leaves_no_trace_for_the_next(client: InProcessClient) -> None:
    client.execute("EVAL", "KEYS.x = 1 ARGV.y = 2 redis.setresp(3) redis.set_repl(0)", 1, "k")
    assert client.execute("EVAL", "return {KEYS.x or 0, ARGV.y or 0}", 0) == b"*2\r\n:0\r\n:0\r\n"


@pytest.mark.parametrize(
    "script",
    [
        "local s = string.rep('x', 20000) for i = 1, 50 do s:upper() s:lower() s:reverse() end",
        "local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 50 do table.remove(t, 1) end",
        "local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 50 do table.insert(t, 1, i) end",
        "for i = 1, 50 do string.rep('x', 20000) end",
        "local t = {string.rep('x', 20000)} for i = 1, 50 do table.concat(t) end",
        "local s = string.rep('x', 20000) for i = 1, 50 do s.format('%q', s) end",
        "local t = {} for i = 1, 2000 do t[i] = i end for i = 1, 50 do unpack(t) end",
    ],
)
def test_the_hook_runs_after_each_long_call_into_c(
    server: InProcessServer,
    client: InProcessClient,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
) -> None:
    looks = count(1)
    monkeypatch.setattr(server, "monotonic_us", lambda: next(looks))
    client.execute("EVAL", script, 0)
    assert next(looks) > 50
