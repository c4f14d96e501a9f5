"""Inputs of the server fuzzer: valid requests of all kinds, and what is left of them after damage.

Requests come from command_strategies.py, noise from fuzz_requests.py, scripts from
script_strategies.py, payloads of RESTORE from a server in this process. A pool of them is kept and
slowly replaced, because to draw a request takes ten times as long as to damage one. A seed means
the same inputs, those to the TLS port apart: a handshake begins with OpenSSL's random numbers.
"""

from __future__ import annotations

import contextlib
import random
import re
import ssl
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from protocol.requests import Argv
from server.inprocess.server import InProcessServer
from storage.redis_format.primitives import CHECKSUM_BYTES, crc64, encode_checksum
from tests.fuzz import fuzz_requests
from tests.fuzz.command_strategies import DIRECTIVE_VALUES, TEXTS, Drawing
from tests.fuzz.script_strategies import ScriptDrawing
from tests.support.programs.redis_cli import quoted
from tests.support.resp import encode_command

USERS = ("admin", "reader", "writer", "narrow")
PASSWORD = b"secret"

# Commands that end the server, or stop or disconnect all clients: they do as they are told. The
# first are taken from the server by `rename-command`, as damage may put any name together.
REMOVED = (b"shutdown", b"debug", b"replicaof", b"slaveof", b"failover", b"sync", b"psync")
# The last takes long and no arguments.
LEFT_OUT = ((b"client", b"kill"), (b"client", b"pause"), (b"pfselftest",))
# Directives that may be set to anything: no other client notices.
FREE_DIRECTIVES = re.compile(
    rb"(?i)(hash|list|set|zset|hll|stream|notify|slowlog|latency|lazyfree|lfu|acllog|hz|tracking"
    rb"|repl-backlog|repl-ping|active-expire|maxmemory-samples|rdbcompression|sanitize).*"
)
RULES = (
    b"on", b"off", b"nopass", b">p", b"<p", b"#" + b"0" * 64, b"+@all", b"-@all", b"+get", b"-get",
    b"+config|get", b"-client|id", b"+select|0", b"~*", b"~s*", b"%R~t", b"%W~text", b"%RW~u",
    b"&*", b"&news", b"resetkeys", b"resetchannels", b"allkeys", b"reset", b"clearselectors",
    b"(+get ~s)", b"(%R~t -@all +@read)", b"(", b"+@", b"%", b"sanitize-payload",
)  # fmt: skip
ACCESS: tuple[tuple[bytes, ...], ...] = (
    (b"AUTH", PASSWORD), (b"AUTH", b"default", b"wrong"), (b"AUTH", b"reader", PASSWORD),
    (b"AUTH", b"a", b"b", b"c"), (b"HELLO",), (b"HELLO", b"2"), (b"HELLO", b"3"), (b"HELLO", b"4"),
    (b"HELLO", b"3", b"AUTH", b"narrow", PASSWORD), (b"HELLO", b"3", b"SETNAME", b"me"),
    (b"HELLO", b"2", b"AUTH", b"nobody", b"x", b"SETNAME", b"a b"), (b"RESET",), (b"QUIT",),
    (b"ACL", b"WHOAMI"), (b"ACL", b"LIST"), (b"ACL", b"GETUSER", b"narrow"), (b"ACL", b"LOG"),
    (b"ACL", b"DELUSER", b"one"), (b"ACL", b"DRYRUN", b"narrow", b"SET", b"s", b"v"),
    (b"CLIENT", b"INFO"), (b"CLIENT", b"LIST"), (b"CLIENT", b"SETNAME", b"me"),
    (b"CLIENT", b"TRACKING", b"ON", b"BCAST", b"PREFIX", b"s"), (b"CLIENT", b"REPLY", b"SKIP"),
    (b"CLIENT", b"NO-EVICT", b"on"), (b"CLIENT", b"SETINFO", b"LIB-NAME", b"x"),
    (b"CONFIG", b"GET", b"*"), (b"CONFIG", b"GET", b"max*", b"s*"), (b"CONFIG", b"RESETSTAT"),
    (b"CONFIG", b"SET", b"hz", b"20", b"slowlog-max-len", b"5"), (b"CONFIG", b"REWRITE"),
    (b"POST / HTTP/1.1",), (b"INFO", b"everything"), (b"MONITOR",),
)  # fmt: skip

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
POOL = 4000
DUMPED, DUMPS_EVERY = 1500, 4
HELLOS = 40
MAX_INPUT_BYTES = 20_000
_HEADER = re.compile(rb"[*$]-?\d+\r\n")

Damage: TypeAlias = Callable[[bytes], bytes]
Requests: TypeAlias = list[Argv]


class Payload(NamedTuple):
    """What DUMP answered for a key; of FUNCTION DUMP the key is empty."""

    key: bytes
    content: bytes


class Inputs:
    """The inputs of a seed, one after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._drawing = Drawing(seed)
        self._drawing.wildness = 0.1
        self._noise = fuzz_requests.Drawing(seed)
        self._scripts = ScriptDrawing(self.random, sizes=(10, 1000))
        self._pool = [self._drawn() for _ in range(POOL)]
        self._payloads = list(_payloads(self.random, self._pool[:DUMPED]))
        self._hellos = [_hello(version) for version in VERSIONS * (HELLOS // 2)]
        self._damages: tuple[Damage, ...] = (
            self._flip, self._flip, self._relength, self._relength, self._cut, self._double,
            self._splice, self._noise.damage,
        )  # fmt: skip
        self._kinds: tuple[Callable[[], Requests], ...] = (
            *[self._requests] * 60, *[self._transaction] * 5, *[self._restore] * 15,
            *[self._access] * 16, *[self._script] * 4,
        )  # fmt: skip

    # -- whole inputs --------------------------------------------------------------------------

    def orderly(self) -> tuple[bytes, int]:
        """Well-formed requests, and how many inputs they are."""
        argvs = self._requests()
        return b"".join(map(encode_command, argvs)), len(argvs)

    def batch(self) -> tuple[bytes, int]:
        """Inputs of any kind for one connection, and their number.

        In most, words are damaged. The last one may be damaged as a whole: the server can make no
        sense of what follows.
        """
        draw = self.random
        inputs: list[bytes] = []
        wanted = draw.choice((1, 2, 5, 10))
        while len(inputs) < wanted:
            how = draw.random()
            if how < 0.02:
                inputs.append(self._noise.stream()[:MAX_INPUT_BYTES])
                break
            argvs = draw.choice(self._kinds)()
            if how < 0.65:
                self._damage_word(draw.choice(argvs))
            data = b"".join(map(self._inline if how > 0.9 else encode_command, argvs))
            inputs.append(self.damaged(data) if how < 0.25 else data)
            if how < 0.25:
                break
        return b"".join(inputs), len(inputs)

    def handshake(self) -> tuple[bytes, int]:
        """The first record of a TLS client, in most cases damaged."""
        hello = self.random.choice(self._hellos)
        return self.damaged(hello) if self.random.random() < 0.9 else hello, 1

    def damaged(self, data: bytes) -> bytes:
        """`data` after one to three damages."""
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            data = self.random.choice(self._damages)(data)
        return data[:MAX_INPUT_BYTES]

    def _damage_word(self, argv: Argv) -> None:
        place = self.random.randrange(len(argv))
        argv[place] = self.damaged(argv[place])

    # -- kinds ---------------------------------------------------------------------------------

    def _drawn(self) -> Argv:
        while True:
            argv = self._drawing.request()
            first, *more = (word.lower() for word in argv)
            if first in REMOVED or (first, *more[:1]) in LEFT_OUT:
                continue
            is_setting = (first, *more[:1]) == (b"config", b"set")
            if not is_setting or all(map(FREE_DIRECTIVES.fullmatch, more[1::2])):
                return argv

    def _requests(self) -> Requests:
        """One is new: the pool changes slowly."""
        draw = self.random
        self._pool[draw.randrange(POOL)] = self._drawn()
        return [list(argv) for argv in draw.choices(self._pool, k=draw.choice((1, 1, 2)))]

    def _transaction(self) -> Requests:
        return [[b"MULTI"], *self._requests(), [b"EXEC"]]

    def _access(self) -> Requests:
        draw = self.random
        kind = draw.random()
        if kind < 0.2:
            user, rules = draw.choice((b"one", b"two")), draw.choices(RULES, k=draw.randrange(6))
            return [[b"ACL", b"SETUSER", user, *rules]]
        if kind < 0.3:
            name = draw.choice((b"hz", b"slowlog-max-len", b"stream-node-max-entries"))
            return [[b"CONFIG", b"SET", name, draw.choice(DIRECTIVE_VALUES)]]
        return [list(draw.choice(ACCESS))]

    def _restore(self) -> Requests:
        """RESTORE of a payload that is damaged first, and then in most cases signed again."""
        draw = self.random
        key, payload = draw.choice(self._payloads)
        if draw.random() < 0.9:
            content = self.damaged(payload[:-CHECKSUM_BYTES])
            payload = content + encode_checksum(crc64(content))
        if not key:
            return [[b"FUNCTION", b"RESTORE", payload, b"REPLACE"]]
        return [[b"RESTORE", key, b"0", payload, b"REPLACE"]]

    def _script(self) -> Requests:
        """Those that never end may not write: SCRIPT KILL must end them."""
        draw = self.random
        if draw.random() < 0.05:
            return [[b"EVAL_RO", self._scripts.script().encode(), b"0"]]
        passage = self._scripts.passage().encode()
        if draw.random() < 0.3:
            return [[b"SCRIPT", b"LOAD", passage]]
        return [[b"EVAL", passage, b"1", b"s", draw.choice(TEXTS)]]

    def _inline(self, argv: Argv) -> bytes:
        if self.random.random() < 0.5:
            return b" ".join(argv) + b"\r\n"
        return " ".join(map(quoted, argv)).encode() + b"\n"

    # -- damages -------------------------------------------------------------------------------

    def _flip(self, data: bytes) -> bytes:
        if not data:
            return data
        flipped = bytearray(data)
        for _ in range(self.random.choice((1, 1, 2, 4))):
            flipped[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        return bytes(flipped)

    def _relength(self, data: bytes) -> bytes:
        """Another number after one of the `*` and `$`."""
        headers = [found.span() for found in _HEADER.finditer(data)]
        if not headers:
            return self._flip(data)
        start, end = self.random.choice(headers)
        number = self.random.choice((*fuzz_requests.NUMBERS, *fuzz_requests.ODD_NUMBERS))
        return data[: start + 1] + number + data[end - 2 :]

    def _part(self, data: bytes) -> tuple[int, int]:
        start = self.random.randrange(len(data) + 1)
        return start, min(len(data), start + self.random.choice((1, 2, 8, 40, 1000)))

    def _cut(self, data: bytes) -> bytes:
        start, end = self._part(data)
        return data[:start] + data[end:]

    def _double(self, data: bytes) -> bytes:
        start, end = self._part(data)
        return data[:start] + data[start:end] * self.random.choice((2, 2, 3, 50)) + data[end:]

    def _splice(self, data: bytes) -> bytes:
        """The beginning of one and the end of another."""
        other = encode_command(self.random.choice(self._pool))
        return data[: self._part(data)[0]] + other[self._part(other)[0] :]


def _payloads(chance: random.Random, requests: Requests) -> Iterator[Payload]:
    """What a server dumps now and then while it runs the requests."""
    server = InProcessServer()
    client, owner = server.connect(), server.connect()
    owner.execute("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', print)")
    yield Payload(b"", _bulk(owner.execute("FUNCTION", "DUMP")))
    for number, request in enumerate(requests):
        client.execute(*request)
        if client.closed or client.state.is_blocked or client.state.gates:
            client.disconnect()
            client = server.connect()
        keys = list(server.instance.databases[0].values)
        if keys and number % DUMPS_EVERY == 0:
            key = chance.choice(keys)
            yield Payload(key, _bulk(owner.execute("DUMP", key)))


def _bulk(reply: bytes) -> bytes:
    return reply.partition(b"\r\n")[2][:-2]


def _hello(version: ssl.TLSVersion) -> bytes:
    """The first record of a client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = version
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()
