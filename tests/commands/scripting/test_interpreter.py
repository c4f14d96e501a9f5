"""Numbers of Lua as texts, bits and bytes.

math.random: the numbers that Redis gives.

Values between Python and Lua: the direct way of compiled code has the results of lupa's.

cjson and cmsgpack: the compiled functions for usual values have the results of those in Lua.

The interpreter: memory, errors, and values between Python and Lua.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys

import pytest

from commands.scripting import interpreter as module
from commands.scripting.evaluation import Scripting
from commands.scripting.interpreter import (
    BIT_OPERATIONS,
    Chance,
    CompileError,
    Failure,
    Interpreter,
    as_argument,
    double_reply,
    pack_float,
    sha1hex,
    to_words,
    unpack_float,
)
from server.inprocess.server import InProcessClient, InProcessServer


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, b"3"), (-5, b"-5"), (2.0**62, b"4611686018427387904"), (1e15, b"1000000000000000"),
        (0.1, b"0.1"), (1e300, b"1e+300"), (3.5e-7, b"3.5e-7"), (1.5, b"1.5"), (-0.25, b"-0.25"),
        (1e21, b"1e+21"), (2.0**63, b"9223372036854776000"), (float("inf"), b"inf"),
        (float("-inf"), b"-inf"), (float("nan"), b"nan"), (123456.789, b"123456.789"),
    ],
)  # fmt: skip
def test_the_text_of_a_number_is_that_of_redis(value: float, text: bytes) -> None:
    assert as_argument(value) == text


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        (b"bit_band", (0xFF, 0x0F), 15), (b"bit_bor", (1, 2, 4), 7), (b"bit_bxor", (5, 1), 4),
        (b"bit_bnot", (0,), -1), (b"bit_lshift", (1, 31), -(1 << 31)), (b"bit_lshift", (1, 32), 1),
        (b"bit_rshift", (-1, 28), 15), (b"bit_arshift", (-16, 2), -4),
        (b"bit_rol", (0x12345678, 12), 0x45678123), (b"bit_ror", (0x12345678, 12), 0x67812345),
        (b"bit_bswap", (0x12345678,), 0x78563412), (b"bit_tobit", (0xFFFFFFFF,), -1),
        (b"bit_tobit", (2.5,), 2), (b"bit_tobit", (2.0**32 + 7,), 7),
    ],
)  # fmt: skip
def test_bit_operations_have_signed_32_bit_results(
    name: bytes, arguments: tuple[float, ...], result: int
) -> None:
    assert BIT_OPERATIONS[name](*arguments) == result


def test_floats_that_are_too_large_are_infinite_in_few_bytes() -> None:
    packed = pack_float(b">f", 1e300)
    assert unpack_float(b">f", packed) == float("inf")


def test_sha1hex() -> None:
    assert sha1hex(b"abc") == b"a9993e364706816aba3e25717850c26c9cd0d89d"


def test_doubles_as_replies() -> None:
    assert double_reply(3.5, 3) == b",3.5\r\n"
    assert double_reply(3.5, 2) == b"$3\r\n3.5\r\n"


def test_the_first_numbers_are_those_of_redis() -> None:
    chance = Chance()
    assert int(chance.random() * 100) + 1 == 40
    assert f"{chance.random():.14f}" == "0.84048536971234"


def test_a_seed_gives_the_same_numbers_again() -> None:
    chance = Chance()
    chance.seed(7)
    first = [chance.random() for _ in range(3)]
    chance.seed(7)
    assert [chance.random() for _ in range(3)] == first
    assert all(0 <= number < 1 for number in first)


# Scripts that return the value of a command, and what they return. Source: Redis 8.2.3.
RESULTS = {
    "return redis.call('set', 'k', 'v')": b"+OK\r\n",
    "return redis.call('get', 'k')": b"$1\r\nv\r\n",
    "return redis.call('get', 'none')": b"$-1\r\n",
    "return redis.call('get', 'none') == false": b":1\r\n",
    "return redis.call('incrby', 'n', '-7')": b":-7\r\n",
    "return redis.call('mget', 'k', 'none')": b"*2\r\n$1\r\nv\r\n$-1\r\n",
    "return redis.call('xrange', 's', '-', '+')": (
        b"*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    ),
    "redis.setresp(3) return redis.call('hgetall', 'h')": b"*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
    "return #redis.call('lrange', 'long', 0, -1)": b":5000\r\n",
}
# Results of a script in RESP2 and RESP3.
REPLIES = {
    "return 1.9": (b":1\r\n", b":1\r\n"),
    "return -1.9": (b":-1\r\n", b":-1\r\n"),
    "return 1e300": (b":-9223372036854775808\r\n", b":-9223372036854775808\r\n"),
    "return 0/0": (b":-9223372036854775808\r\n", b":-9223372036854775808\r\n"),
    "return nil": (b"$-1\r\n", b"_\r\n"),
    "return false": (b"$-1\r\n", b"_\r\n"),
    "return true": (b":1\r\n", b":1\r\n"),
    "redis.setresp(3) return true": (b":1\r\n", b"#t\r\n"),
    "return ''": (b"$0\r\n\r\n", b"$0\r\n\r\n"),
    "return 'a\\0b'": (b"$3\r\na\0b\r\n", b"$3\r\na\0b\r\n"),
    "return {}": (b"*0\r\n", b"*0\r\n"),
    "return {1, 'a', {true, {2}}}": (
        b"*3\r\n:1\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n:2\r\n",
        b"*3\r\n:1\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n:2\r\n",
    ),
    "return {1, nil, 3}": (b"*1\r\n:1\r\n", b"*1\r\n:1\r\n"),
    "return {1, false, 3}": (b"*3\r\n:1\r\n$-1\r\n:3\r\n", b"*3\r\n:1\r\n_\r\n:3\r\n"),
    "return {1, 2, x = 3}": (b"*2\r\n:1\r\n:2\r\n", b"*2\r\n:1\r\n:2\r\n"),
    "return {ok = 'fine'}": (b"+fine\r\n", b"+fine\r\n"),
    "return {ok = 'a\\nb'}": (b"+a b\r\n", b"+a b\r\n"),
    "return {ok = 'fine', err = 'ERR bad'}": (b"-ERR bad\r\n", b"-ERR bad\r\n"),
    "return {{ok = 'fine'}, {err = 'ERR bad'}}": (
        b"*2\r\n+fine\r\n-ERR bad\r\n",
        b"*2\r\n+fine\r\n-ERR bad\r\n",
    ),
    "return {double = 1.5}": (b"$3\r\n1.5\r\n", b",1.5\r\n"),
    "return {{{{{{{{9}}}}}}}}": (b"*1\r\n" * 8 + b":9\r\n", b"*1\r\n" * 8 + b":9\r\n"),
    "return KEYS": (b"*0\r\n", b"*0\r\n"),
    "return ARGV": (b"*1\r\n$1\r\na\r\n", b"*1\r\n$1\r\na\r\n"),
}


@pytest.fixture
def filled(client: InProcessClient) -> InProcessClient:
    client.execute("SET", "k", "v")
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("HSET", "h", "f", "v")
    client.execute("RPUSH", "long", *range(5000))
    return client


@pytest.mark.parametrize("script", RESULTS)
def test_replies_of_commands_become_values(filled: InProcessClient, script: str) -> None:
    assert filled.execute("EVAL", script, 0) == RESULTS[script]


@pytest.mark.parametrize("script", REPLIES)
def test_results_become_replies(client: InProcessClient, script: str) -> None:
    of_resp2, of_resp3 = REPLIES[script]
    assert client.execute("EVAL", script, 0, "a") == of_resp2
    client.execute("HELLO", 3)
    assert client.execute("EVAL", script, 0, "a") == of_resp3


def test_a_long_list_becomes_a_reply(client: InProcessClient) -> None:
    script = "local t = {} for i = 1, 2000 do t[i] = i end return t"
    assert client.execute("EVAL", script, 0).startswith(b"*2000\r\n:1\r\n:2\r\n")


def test_lists_that_are_in_others_many_times_have_the_limit_of_memory(
    client: InProcessClient,
) -> None:
    script = """
        local text, inner, outer = string.rep('x', 1000), {}, {}
        for i = 1, 1000 do inner[i] = text end
        for i = 1, 300 do outer[i] = inner end
        return outer
    """
    assert client.execute("EVAL", script, 0) == b"-ERR not enough memory\r\n"
    reply = client.execute("EVAL", "return {string.rep('x', 2000000), 1}", 0)
    assert reply == b"*2\r\n$2000000\r\n" + b"x" * 2_000_000 + b"\r\n:1\r\n"


def test_functions_are_freed_with_the_scripts_that_were_evicted(
    server: InProcessServer, client: InProcessClient
) -> None:
    for number in range(1200):
        client.execute("EVAL", f"return {number}", 0)
    interpreter = server.instance.feature(Scripting).interpreter
    interpreter.collect()
    before = interpreter.memory_bytes
    for number in range(1200, 2400):
        assert client.execute("EVAL", f"return {number}", 0) == b":%d\r\n" % number
    interpreter.collect()
    assert interpreter.memory_bytes < before + 20_000


def test_numbers_become_words() -> None:
    assert to_words((b"a", 1, 0.5)) == [b"a", b"1", b"0.5"]
    assert to_words((b"a", None)) is None


# What a value is, with the order of its pairs and the length that `#` finds.
SHOW = """
local function show(value)
  if type(value) == 'string' then return string.format('%q', value) end
  if type(value) ~= 'table' then return type(value) .. string.format('%s', tostring(value)) end
  local shown = {#value}
  for key, item in pairs(value) do shown[#shown + 1] = show(key) .. '=' .. show(item) end
  return '{' .. table.concat(shown, ',') .. '}'
end
"""
# The other settings have the same values, but a script has set one: Lua does the work.
BOTH_JSON = (
    SHOW
    + """
local function all()
  local shown = {}
  for index, text in ipairs(ARGV) do
    local ok, value = pcall(cjson.decode, text)
    shown[#shown + 1] = show(value)
    shown[#shown + 1] = show({pcall(cjson.encode, value)})
  end
  return shown
end
local quick = all()
cjson.encode_max_depth(1000)
local slow = all()
for index, text in ipairs(quick) do
  if text ~= slow[index] then return {ARGV[math.ceil(index / 2)], text, slow[index]} end
end
return #quick
"""
)
BOTH_MSGPACK = (
    SHOW
    + """
local function without_place(ok, place, ...)
  if ok then return ok, ... end
  return ok, place
end
for _, text in ipairs(ARGV) do
  local quick = {pcall(cmsgpack.unpack, text)}
  local slow = {without_place(pcall(cmsgpack.unpack_limit, text, 1000, 0))}
  if show(quick) ~= show(slow) then return {text, show(quick), show(slow)} end
end
return #ARGV
"""
)
NUMBERS = (
    "0", "-0", "7", "-7", "1e3", "1.5", "-2.25e-3", "99999999999999", "100000000000000", "0.1",
    "123456789012345", "1234567890123456789", "1e400", "-", "01", "1.", ".5", "+1", "0x10", "1e",
    "nan", "-inf", "2147483648",
)  # fmt: skip
TEXTS = (
    '""', '"a b"', '"\\n\\t\\/\\"\\\\"', '"\\u00e9\\u20AC\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"',
    '"\\x"', '"\\u12g4"', '"a', '"\x01\x7f"', '"\u00e9\u20ac"',
)  # fmt: skip


def random_json(chance: random.Random, depth: int = 0) -> str:
    """A text of JSON, which may have mistakes in it."""
    kind = chance.randrange(10 if depth < 4 else 6)
    if kind < 5:
        return chance.choice(chance.choice((NUMBERS, TEXTS, ("true", "false", "null", " 1 ", ""))))
    items = [random_json(chance, depth + 1) for _ in range(chance.randrange(6))]
    if kind < 8:
        return f"[{', '.join(items)}]"
    pairs = [f"{chance.choice(TEXTS)}{chance.choice((':', ' : '))}{item}" for item in items]
    return "{" + ",".join(pairs) + chance.choice(("}", "}", "}", "", " }", "]"))


def test_json_that_compiled_code_reads_and_makes_is_that_of_lua(client: InProcessClient) -> None:
    chance = random.Random(7)
    texts = [random_json(chance) for _ in range(3000)]
    nested = ["[" * n + "]" * n for n in (15, 16, 17, 18, 40)]
    sparse = [json.dumps({"a": [None] * 20, "b": {str(n): n for n in range(20)}})]
    long = [json.dumps(["x/" * 6000]), json.dumps(list(range(990))), json.dumps(["\0" * 5400] * 2)]
    words = [text.encode() for text in texts + nested + sparse + long]
    assert client.execute("EVAL", BOTH_JSON, 0, *words) == b":%d\r\n" % (2 * len(words))


def random_msgpack(chance: random.Random, depth: int = 0) -> bytes:
    """A value of MessagePack, which may lack bytes at its end."""
    kind = chance.randrange(12 if depth < 4 else 7)
    if kind < 2:
        return bytes([chance.choice((0, 5, 127, 224, 255, 192, 194, 195, 193, 199))])
    if kind == 2:
        code, width = chance.choice(
            ((0xCC, 1), (0xCD, 2), (0xCE, 4), (0xCF, 8), (0xD0, 1), (0xD3, 8))
        )
        return bytes([code]) + chance.choice(
            (bytes(width), b"\xff" * width, chance.randbytes(width))
        )
    if kind == 3:
        value = chance.choice((0.0, -0.0, 1.5, float("inf"), float("nan"), 1e300))
        return chance.choice((b"\xcb" + struct.pack(">d", value), b"\xca\x3f\xc0\x00\x00"))
    if kind < 7:
        text = chance.randbytes(chance.choice((0, 1, 31, 40)))
        head = chance.choice((b"\xd9%c", b"\xda\0%c", b"\xdb\0\0\0%c", b"\xc4%c", b"\xc5\0%c"))
        return (bytes([160 + len(text)]) if len(text) < 32 else head % len(text)) + text
    items = [random_msgpack(chance, depth + 1) for _ in range(chance.choice((0, 1, 2, 3, 9)))]
    if kind < 9:
        head = chance.choice((bytes([144 + len(items)]), b"\xdc\0%c" % len(items)))
        return head + b"".join(items)
    keys = [chance.choice((b"\x01", b"\xa1a", b"\xa1b", b"\xc3", b"\x02", b"\xc0")) for _ in items]
    pairs = [key + item for key, item in zip(keys, items, strict=True)]
    head = chance.choice((bytes([128 + len(items)]), b"\xdf\0\0\0%c" % len(items)))
    return head + b"".join(pairs)


def test_values_that_compiled_code_unpacks_are_those_of_lua(client: InProcessClient) -> None:
    chance = random.Random(7)
    words = [b"".join(random_msgpack(chance) for _ in range(n % 4)) for n in range(3000)]
    words += [word[: chance.randrange(1, len(word))] for word in words if len(word) > 1]
    words += [b"\x91" * n + b"\x01" for n in (15, 16, 17, 40, 188, 189, 190)]
    assert client.execute("EVAL", BOTH_MSGPACK, 0, *words) == b":%d\r\n" % len(words)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("\nreturn cjson.decode('[')", b"user_script:2: Expected value but found T_END at"),
        ("\nreturn cjson.encode({a = print})", b"user_script:2: Cannot serialise function"),
        ("\nreturn cjson.encode(1, 2)", b"user_script:2: bad argument #1 to 'encode'"),
        ("\nreturn cmsgpack.unpack({})", b"user_script:2: bad argument #1 to 'unpack'"),
        ("\nreturn cmsgpack.unpack('\\145')", b"Missing bytes in input."),
    ],
)
def test_an_error_of_cjson_or_cmsgpack_names_the_line_of_the_script(
    client: InProcessClient, source: str, error: bytes
) -> None:
    reply = client.execute("EVAL", source.replace("print", "tostring"), 0)
    assert reply.startswith(b"-ERR " + error) and b"on @user_script:2." in reply


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


@pytest.mark.parametrize("function", ["unpack", "unpack_one"])
def test_large_unsigned_numbers_of_messagepack_are_negative(
    client: InProcessClient, function: str
) -> None:
    """As in redis-server 8.2.3."""
    script = f"return select(-1, cmsgpack.{function}(ARGV[1]))"
    for number in (-1, -(2**63), 255):
        data = b"\xcf" + number.to_bytes(8, signed=True)
        assert client.execute("EVAL", script, 0, data) == b":%d\r\n" % number


PROGRAM = """
from rillway.app.server.inprocess.server import InProcessServer

client = InProcessServer().connect()
body = "local texts = {} for i = 1, 10000 do texts[i] = i .. 'x' end return #texts"
print(client.execute("EVAL", body, 0))
body = "local t = 'x' while true do t = t .. t end"
print(client.execute("EVAL", body, 0)[:22])
"""


def test_scripts_run_and_are_limited_if_python_checks_its_memory() -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split("\n") == ["b':10000\\r\\n'", "b'-ERR not enough memory'", ""]
