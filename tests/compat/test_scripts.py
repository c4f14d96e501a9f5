"""Scripts and functions answer as on a real Redis, byte for byte, in RESP2 and RESP3."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from tests.compat.commands.scripts import SCRIPTS
from tests.support.examples import compared, compat_seed
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat

FOOTER_BYTES = 12  # of a payload's reply: the version of the format, a checksum, the end of line
EMPTY = (("FLUSHALL",), ("SCRIPT", "FLUSH"), ("FUNCTION", "FLUSH"))


@pytest.fixture(params=[2, 3])
def both(
    request: pytest.FixtureRequest, rillway_server: RunningServer, redis_server: RunningServer
) -> Iterator[tuple[RespClient, RespClient]]:
    """Connections to Rillway and to Redis."""
    with (
        rillway_server.connect(protocol=request.param) as ours,
        redis_server.connect(protocol=request.param) as theirs,
    ):
        for client in (ours, theirs):
            for words in EMPTY:
                assert client.send(*words) == b"+OK\r\n"
        yield ours, theirs
        for client in (ours, theirs):
            client.send("FUNCTION", "FLUSH")


def compare(both: tuple[RespClient, RespClient], *words: str | bytes) -> None:
    ours, theirs = both
    expected = theirs.send(*words)
    assert ours.send(*words) == expected, words


def test_scripts(both: tuple[RespClient, RespClient]) -> None:
    for script in SCRIPTS:
        compare(both, "EVAL", script, "0")


@pytest.mark.parametrize(
    "words",
    [
        ("EVAL", "return {KEYS, ARGV}", "1", "k", "a", "b"),
        ("EVAL", "return #ARGV", "0", *["x"] * 1000),
        ("EVAL", "return 1", "5"),
        ("EVAL", "return 1", "-1"),
        ("EVAL", "return 1", "x"),
        ("EVAL", "return 1"),
        ("EVALSHA", "abc", "x"),
        ("EVALSHA", "f" * 40, "x"),
        ("EVALSHA", "f" * 40, "0"),
        ("EVAL_RO", "return redis.call('set', 'a', 1)", "0"),
        ("EVAL_RO", "return redis.call('publish', 'a', 1)", "0"),
        ("EVAL_RO", "#!lua\nreturn 1", "0"),
        ("EVAL_RO", "#!lua flags=no-writes\nreturn 1", "0"),
        ("SCRIPT", "KILL"),
        ("SCRIPT", "DEBUG", "foo"),
        ("SCRIPT", "FLUSH", "foo"),
        ("SCRIPT", "LOAD", "x x"),
        ("SCRIPT", "LOAD", "return 1"),
        ("SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "x"),
        ("SCRIPT", "NOPE"),
        ("COMMAND", "GETKEYS", "EVAL", "x", "2", "a", "b", "c"),
        ("COMMAND", "GETKEYS", "EVAL", "x", "0"),
        ("FUNCTION", "KILL"),
        ("FUNCTION", "STATS"),
        ("FUNCTION", "RESTORE", "x"),
        ("FUNCTION", "RESTORE", "x", "foo"),
        ("FUNCTION", "LIST", "foo"),
        ("FUNCTION", "LIST", "LIBRARYNAME"),
        ("FUNCTION", "LOAD", "x"),
        ("FUNCTION", "LOAD", "#!lua name=l"),
        ("FUNCTION", "LOAD", "#!js name=l\nx"),
        ("FUNCTION", "DELETE", "nope"),
        ("FCALL", "nope", "x"),
    ],
)
def test_requests(both: tuple[RespClient, RespClient], words: tuple[str, ...]) -> None:
    compare(both, *words)


REGISTRATIONS = [
    "()", "('a')", "({}, function() end)", "('a', 1)", "('a b', function() end)",
    "('', function() end)", "{}", "{function_name = 'a'}", "{callback = function() end}",
    "{function_name = 1, callback = function() end}", "{function_name = 'a', callback = 1}",
    "{function_name = 'a', callback = function() end, x = 1}",
    "{function_name = 'a', callback = function() end, flags = 1}",
    "{function_name = 'a', callback = function() end, flags = {'x'}}",
    "{function_name = 'a', callback = function() end, flags = {'no-writes', 'allow-oom'}}",
    "{function_name = 'a', callback = function() end, description = 'text'}",
    "('a', function() end, 1)",
    "('a', function(keys, args) return {keys, args} end)",
    "('a', function() return redis.call('nope') end)",
    "('a', function() return redis.pcall('incr', 'k', 'k') end)",
    "('a', function()\n error('x') end)",
    "('a', function() x = 1 end)",
    "('a', function() return KEYS end)",
    "('a', function() return redis.register_function('b', function() end) end)",
    "{function_name = 'a', callback = function() return redis.call('set', 'k', 1) end,"
    " flags = {'no-writes'}}",
]  # fmt: skip


@pytest.mark.parametrize("arguments", REGISTRATIONS)
def test_libraries(both: tuple[RespClient, RespClient], arguments: str) -> None:
    code = f"#!lua name=lib\nredis.register_function{arguments}"
    compare(both, "FUNCTION", "LOAD", code)
    compare(both, "FUNCTION", "LOAD", code)
    compare(both, "FUNCTION", "LOAD", "REPLACE", code)
    compare(both, "FCALL", "a", "1", "k", "v")
    compare(both, "FCALL_RO", "a", "1", "k", "v")
    compare(both, "FUNCTION", "LIST", "WITHCODE")
    compare(both, "FUNCTION", "STATS")
    # Other bytes come out of compression that mean the same.
    compare(both, "CONFIG", "SET", "rdbcompression", "no")
    ours, theirs = (client.send("FUNCTION", "DUMP") for client in both)
    assert ours[:-FOOTER_BYTES] == theirs[:-FOOTER_BYTES]
    compare(both, "CONFIG", "SET", "rdbcompression", "yes")


# -- generated -----------------------------------------------------------------------------------


class Drawing:
    """Random expressions of Lua."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def scalar(self) -> str:
        rng = self._rng
        return rng.choice(
            [
                "nil", "true", "false", "0", "-1", "3.7", "-3.7", "2^53", "2^63", "-2^63", "1e300",
                "0/0", "1/0", str(rng.randint(-(10**12), 10**12)), repr(rng.uniform(-1e6, 1e6)),
                "''", "'a'", r"'\0\1\255'", r"'a\r\nb'", "string.rep('x', 300)", "'-1'", "'0x10'",
                "cjson.null",
            ]
        )  # fmt: skip

    def value(self, depth: int = 0) -> str:
        rng = self._rng
        if depth > 3 or rng.random() < 0.4:
            return self.scalar()
        kind = rng.choice(["array", "array", "array", "holes", "ok", "err", "double", "map", "set",
                           "big_number", "verbatim"])  # fmt: skip
        items = [self.value(depth + 1) for _ in range(rng.randint(0, 4))]
        if kind == "array":
            return "{" + ", ".join(items) + "}"
        if kind == "holes":
            return "{" + ", ".join(f"[{rng.randint(1, 5)}] = {item}" for item in items) + "}"
        if kind in ("ok", "err"):
            text = rng.choice(["'OK'", "'ERR x'", r"'a\r\nb'", "1"])
            return f"{{{kind} = {text}}}"
        if kind == "double":
            number = rng.choice(["1", "0.5", "-2.25", "'x'"])
            return f"{{double = {number}}}"
        if kind == "map":
            key = rng.choice(["'k'", "1"])
            return f"{{map = {{[{key}] = {self.value(depth + 1)}}}}}"
        if kind == "set":
            key = rng.choice(["'k'", "1", "true"])
            return f"{{set = {{[{key}] = true}}}}"
        if kind == "big_number":
            return r"{big_number = '123\r\n4'}"
        return f"{{verbatim_string = {{format = 'txt', string = {self.scalar()}}}}}"

    def call(self) -> str:
        rng, value = self._rng, self.value
        draw: Callable[[], str] = rng.choice(
            [
                lambda: f"cjson.encode({value()})",
                lambda: f"cjson.decode(cjson.encode({value()}))",
                lambda: f"cmsgpack.pack({value()}, {value()})",
                lambda: f"cmsgpack.unpack(cmsgpack.pack({value()}))",
                lambda: f"struct.pack('{self.layout()}', {self.scalar()}, {self.scalar()})",
                lambda: f"{{struct.unpack('{self.layout()}', 'abcdefghijklmnop')}}",
                lambda: (
                    f"bit.{rng.choice(['band', 'bor', 'bxor', 'lshift', 'rshift', 'arshift'])}"
                    f"({self.scalar()}, {self.scalar()})"
                ),
                lambda: f"bit.{rng.choice(['tobit', 'tohex', 'bnot', 'bswap'])}({self.scalar()})",
                lambda: f"tostring({self.scalar()}) .. type({value()})",
                lambda: f"string.format('%s %d %g', {self.scalar()}, {self.scalar()}, 1)",
                lambda: f"{self.scalar()} .. {self.scalar()}",
                lambda: f"{self.scalar()} + {self.scalar()}",
                lambda: f"{self.scalar()} < {self.scalar()}",
                lambda: f"select({self.scalar()}, {value()}, {value()})",
                lambda: f"redis.call('set', 'k', {self.whole()})",
                lambda: f"redis.pcall('rpush', 'list', {self.whole()}, {self.whole()})",
                lambda: "redis.call('lrange', 'list', 0, -1)",
                lambda: f"redis.{rng.choice(['error_reply', 'status_reply'])}({self.scalar()})",
                lambda: f"({value()})[{self.scalar()}]",
                lambda: f"#{value()}",
            ]
        )
        return draw()

    def whole(self) -> str:
        return self._rng.choice(["1", "-7", "'x'", "2^40", "{}", "nil"])

    def layout(self) -> str:
        rng = self._rng
        return "".join(rng.choice("<>!bBhHlLiIfdsxc= ") for _ in range(rng.randint(1, 3)))

    def script(self) -> str:
        start = self._rng.choice(["", "", "redis.setresp(3) "])
        return f"{start}return {self._rng.choice([self.value, self.call])()}"


def is_comparable(script: str, reply: bytes) -> bool:
    """Not where an address is shown."""
    return b": 0x" not in reply


SCRIPTS_OF_A_SEED = 400


@pytest.mark.parametrize("number", range(-(-compared(1600) // SCRIPTS_OF_A_SEED)))
def test_generated_scripts(both: tuple[RespClient, RespClient], number: int) -> None:
    drawing = Drawing(compat_seed() + number)
    ours, theirs = both
    for _ in range(SCRIPTS_OF_A_SEED):
        script = drawing.script()
        expected = theirs.send("EVAL", script, "0")
        found = ours.send("EVAL", script, "0")
        if is_comparable(script, expected):
            assert found == expected, script
