"""Rounds of the command fuzzer: what several clients send, and what the clock does meanwhile.

Commands are drawn from the table of commands: each one's `syntax` is the grammar of its arguments,
the names in it say which values fit. Keys, groups and IDs are few, so that commands meet. Then, in
some rounds rarely and in others all the time, arguments are swapped, dropped, doubled or replaced
by edges and nonsense.

A round is data and does not look at the server: the same seed gives the same round, and a round
with steps taken out can be played again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import commands.catalogue  # noqa: F401  (declares every command)
from commands.config.configuration import DIRECTIVES, NAMES
from commands.core.registry import COMMANDS, Command
from commands.documentation import row_of
from commands.server.syntax import Argument, parse_syntax
from protocol.requests import Argv

CLIENTS = 5
FIRST_MS = 1_700_000_000_000

# -- what a round is made of ---------------------------------------------------------------------


@dataclass(frozen=True)
class Send:
    """Requests that reach the server in one cycle."""

    client: int
    requests: tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True)
class Clock:
    """The clock moves, forth or back."""

    ms: int


@dataclass(frozen=True)
class Leave:
    """A client disconnects. Unless `told`, the server only notices when it checks the socket."""

    client: int
    told: bool


Step: TypeAlias = Send | Clock | Leave


@dataclass
class Round:
    """A server's life: its start and what happens to it."""

    now_ms: int = FIRST_MS
    directives: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


# -- values --------------------------------------------------------------------------------------

Words: TypeAlias = tuple[bytes, ...]

STREAM_KEYS: Words = (b"s",) * 8 + (b"t", b"t", b"u", b"text", b"")
STRING_KEYS: Words = (b"text", b"text", b"count", b"count", b"s", b"a" * 70, b"\x00\xff\r\n")
# Keys of the other types, and now and then one of another.
COLLECTION_KEYS: dict[str, Words] = {
    "set": (b"set",) * 4 + (b"set2", b"set2", b"zset", b""),
    "sorted-set": (b"zset",) * 4 + (b"zset2", b"zset2", b"set", b"text"),
    "geo": (b"zset",) * 4 + (b"zset2", b"zset2", b"set"),
    "list": (b"list",) * 4 + (b"list2", b"list2", b"hash"),
    "hash": (b"hash",) * 4 + (b"hash2", b"hash2", b"list"),
}
KEYS: Words = (*STRING_KEYS, b"s", b"t", b"u", b"set", b"zset", b"list", b"hash")
EDGE_NUMBERS = (
    b"-1", b"-0", b"+1", b"01", b" 1", b"1 ", b"1.5", b"1e3", b"1_000", b"0x10", b"", b"x", b"\x00",
    b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"0.1e17", b"\xd9\xa3", b"2147483647",
    b"2147483648", b"4294967295", b"4294967296", b"536870912", b"576460752303423488",
    b"1152921504606846975", b"4611686018427387904", b"9223372036854774807", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775808", b"-9223372036854775809",
    b"18446744073709551615", b"18446744073709551616", b"9" * 40, b"9" * 5000, b"0." + b"1" * 5000,
)  # fmt: skip
EDGE_IDS = (
    b"-", b"+", b"$", b">", b"*", b"0-*", b"3-*", b"-*", b"*-*", b"(", b"(-", b"(+", b"(0",
    b"((1-0", b"0-0", b"(0-0", b"18446744073709551615-18446744073709551615", b"\x00",
    b"18446744073709551615-*",
    b"(18446744073709551615-18446744073709551615", b"18446744073709551615", b"", b"1-", b"-1",
    b"18446744073709551616", b"0-18446744073709551615", b"1-18446744073709551616", b"1--1",
    b"1-1-1", b"1.5", b"+1-1", b" 1-1", b"1-1 ", b"0x1-0", b"9" * 130, b"9" * 5000 + b"-1",
)  # fmt: skip
TEXTS = (
    b"", b"1", b"42", b"-7", b"3.5", b"1e2", b"hello", b"\x00", b"\xff\xfe", b"\r\n", b"a b",
    b"-ERR no\r\n+OK\r\n", b"*1\r\n$4\r\nPING\r\n", b"x" * 44, b"x" * 45, b"v" * 300, b"v" * 5000,
    b"9223372036854775807", b"\x80" * 9, b'"quoted"', b"'", b"%d %s %b",
)  # fmt: skip
PATTERNS = (
    b"*", b"s*", b"?", b"[s-u]", b"[^a]", b"[", b"[^", b"[a-", b"\\", b"\\*", b"", b"**", b"[]a]",
    b"*a" * 30 + b"b", b"a*" * 60, b"(a+)+$", b"__key*__:*", b"\xff*", b"*" * 2000,
)  # fmt: skip
LIFETIMES = (b"0", b"1", b"2", b"50", b"100", b"1000", b"100000", b"-1", b"9223372036854775")

Draw: TypeAlias = Callable[["Drawing"], bytes]


class Drawing:
    """Draws rounds. All chance comes from the seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now_ms = FIRST_MS
        self.wildness = 0.0  # how likely a request is damaged
        # Of the request that is drawn: where it looks for keys, the directive that it sets.
        self.keys = KEYS
        self.directive = ""
        self.repeats = 1  # how often an argument comes that may come several times
        self.only_new = False  # consumers of groups never read their history

    def one(self, choices: Words) -> bytes:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def number(self, limit: int) -> bytes:
        return b"%d" % self.random.randrange(limit)

    # -- rounds --------------------------------------------------------------------------------

    def round(self, length: int) -> Round:
        self.now_ms = self.random.choice((FIRST_MS,) * 6 + (1,))
        self.only_new = self.chance(0.5)
        self.wildness = self.random.choice((0.02, 0.02, 0.1, 0.5))
        drawn = Round(self.now_ms, self.directives())
        drawn.steps = self.opening("requirepass" in drawn.directives)
        drawn.steps += [self.step() for _ in range(length)]
        return drawn

    def opening(self, with_password: bool) -> list[Step]:
        """Streams with entries, groups and consumers to begin with; some clients speak RESP3."""
        steps: list[Step] = []
        if with_password:
            steps += [Send(client, ((b"AUTH", b"secret"),)) for client in range(CLIENTS)]
        steps += [Send(client, ((b"HELLO", b"3"),)) for client in range(0, CLIENTS, 2)]
        steps += [self.stream(key) for key in (b"s", b"s", b"t", b"u")[: self.random.randrange(5)]]
        if self.chance(0.4):
            steps.append(self.policies(self.one((b"s", b"t"))))
        return steps

    def stream(self, key: bytes) -> Step:
        """A stream as programs make it, in the place of whatever was there."""
        groups = [(b"XGROUP", b"CREATE", key, name, b"0", b"MKSTREAM") for name in (b"g", b"h")]
        entries = [(b"XADD", key, b"%d-*" % ms, b"f", b"v") for ms in range(1, 9)]
        reads = [
            (b"XREADGROUP", b"GROUP", b"g", name, b"COUNT", b"3", b"STREAMS", key, b">")
            for name in (b"alice", b"bob")
        ]
        requests = ((b"SELECT", b"0"), (b"DEL", key), *groups, *entries, *reads)
        return Send(self.random.randrange(CLIENTS), requests)

    def policies(self, key: bytes) -> Step:
        """A stream that looks after itself: what falls due does so within a step of the clock."""
        dead = self.one((b"u", b"dead", b"text"))
        group = (b"XGROUP", b"CONFIG", key, self.one((b"g", b"h")))
        wait = (b"ACK-WAIT", self.one((b"1", b"100", b"1000")))
        choices = (
            (*group, *wait, b"BACKOFF", b"0", b"10", b"2000"),
            (*group, *wait, b"MAX-DELIVERIES", self.one((b"1", b"3")), b"DEAD-LETTER", dead),
            (*group, b"MAX-PENDING", self.one((b"1", b"4"))),
            (*group, *wait, b"CONSUMER-EXPIRY", b"1500"),
            (*group, *wait, b"KEY-FIELD", b"f", b"KEY-LOOKAHEAD", self.one((b"1", b"100"))),
            (b"XCFGSET", key, b"RETAIN-LEN", self.one((b"0", b"3")), b"RETAIN-REFS", b"ACKED"),
            (
                b"XCFGSET",
                key,
                b"RETAIN-BYTES",
                b"5",
                b"RETAIN-REFS",
                self.one((b"KEEPREF", b"DELREF")),
            ),
            (b"XCFGSET", key, b"RETAIN-ACKED", b"yes", b"GROUP-MAX-IDLE", b"500"),
            (b"XADD", key, b"DELAY", self.one((b"0", b"1", b"100", b"900")), b"*", b"f", b"later"),
        )
        count = self.random.randrange(1, 5)
        return Send(self.random.randrange(CLIENTS), tuple(self.random.choices(choices, k=count)))

    def directives(self) -> dict[str, str]:
        draw = self.random.choice
        directives = {
            "stream-node-max-entries": draw(("0", "1", "2", "3", "10", "100")),
            "stream-node-max-bytes": draw(("0", "1", "64", "300", "4096")),
            "notify-keyspace-events": draw(("", "KEA", "KEAmn", "Ktx")),
            "slowlog-log-slower-than": draw(("0", "-1", "10000")),
            "latency-monitor-threshold": draw(("0", "1")),
            "tracking-table-max-keys": draw(("0", "2", "1000")),
            "enable-debug-command": "yes",
            # A string grows no further than this, whatever offset SETRANGE draws.
            "proto-max-bulk-len": "1mb",
        }
        if self.chance(0.05):
            directives["requirepass"] = "secret"
        return directives

    def step(self) -> Step:
        kind = self.random.random()
        client = self.random.randrange(CLIENTS)
        if kind < 0.06:
            return Clock(self.clock_step())
        if kind < 0.08:
            return Leave(client, told=self.chance(0.5))
        if kind < 0.10:
            return self.stream(self.one((b"s", b"s", b"t")))
        if kind < 0.12:
            return self.policies(self.one((b"s", b"s", b"t")))
        count = 1 if self.chance(0.85) else self.random.randrange(2, 12)
        requests = [tuple(self.request()) for _ in range(count)]
        if self.chance(0.05):
            requests = [(b"MULTI",), *requests, (b"EXEC",)]
        return Send(client, tuple(requests))

    def clock_step(self) -> int:
        ms = self.random.choice((1, 2, 10, 100, 1000, 100_000, -1, -3, -500, -100_000))
        ms = max(ms, 1 - self.now_ms)
        self.now_ms += ms
        return ms

    # -- requests ------------------------------------------------------------------------------

    def request(self) -> Argv:
        found = self.random.choice(WEIGHTED)
        by_group = {"stream": STREAM_KEYS, "string": STRING_KEYS, **COLLECTION_KEYS}
        self.keys = by_group.get(row_of(found).group, KEYS)
        self.directive = ""
        argv = found.fullname.split(b"|")
        argv += self.arguments(parse_syntax(row_of(found).syntax, found.fullname.decode()))
        if found.fullname == b"xreadgroup" and (self.only_new or self.chance(0.6)):
            streams = len(argv) - 1 - argv.index(b"STREAMS")
            argv[len(argv) - streams // 2 :] = [b">"] * (streams // 2)
        while self.chance(self.wildness):
            self.mutate(argv)
        if not argv or self.chance(self.wildness / 20):
            argv.insert(0, self.one(TEXTS))
        if not WEIGHTS.get(argv[0].decode(errors="replace").lower(), 2):
            argv[0] = b"PING"  # a mutation has made it the name of a command that is never sent
        if self.chance(0.3):
            argv[0] = argv[0].upper()
        return argv

    def arguments(self, syntax: list[Argument]) -> Argv:
        """Words for a sequence of arguments; keys and their IDs come in equal numbers."""
        repeats = self.random.choice((1, 1, 1, 1, 1, 1, 2, 3))
        if self.chance(0.02):
            repeats = self.random.choice((0, 0, 300))
        self.repeats = repeats
        return [word for argument in syntax for word in self.argument(argument, repeats)]

    def argument(self, argument: Argument, repeats: int) -> Argv:
        if argument.optional and self.chance(0.6):
            return []
        times = repeats if argument.multiple else 1
        words: Argv = []
        for turn in range(times):
            if argument.token and (turn == 0 or argument.multiple_token):
                words.append(argument.token.encode())
            words += self.value(argument)
        return words

    def value(self, argument: Argument) -> Argv:
        if argument.type == "pure-token":
            return []
        if argument.type == "oneof":
            return self.argument(self.random.choice(argument.arguments), 1)
        if argument.type == "block":
            return self.arguments(argument.arguments)
        if argument.type in ("integer", "double") and self.chance(0.05):
            return [self.one(EDGE_NUMBERS)]
        if argument.type == "integer" and argument.name in NOT_IDS:
            return [self.one(OFFSETS)]
        draw = BY_NAME.get(argument.name) or BY_TYPE.get(argument.type) or any_text
        return [draw(self)]

    def mutate(self, argv: Argv) -> None:
        """Damage a request in place."""
        place = self.random.randrange(len(argv) + 1)
        kind = self.random.randrange(7)
        if kind == 0:
            argv.insert(place, self.word())
        elif not argv or place == len(argv):
            argv.append(self.word())
        elif kind == 1:
            del argv[place]
        elif kind == 2:
            argv[place] = self.word()
        elif kind == 3:
            other = self.random.randrange(len(argv))
            argv[place], argv[other] = argv[other], argv[place]
        elif kind == 4:
            argv[place] = argv[place].swapcase()
        elif kind == 5:
            argv[place:place] = argv[place:] * self.random.choice((1, 1, 2, 50))
        else:
            damaged = bytearray(argv[place] or b"?")
            damaged[self.random.randrange(len(damaged))] = self.random.randrange(256)
            argv[place] = bytes(damaged)

    def word(self) -> bytes:
        """Something that fits somewhere else."""
        return self.one(self.random.choice((EDGE_NUMBERS, EDGE_IDS, TEXTS, PATTERNS, TOKENS, KEYS)))


# -- which value fits which name -----------------------------------------------------------------


def any_text(drawing: Drawing) -> bytes:
    return drawing.one(TEXTS)


def one_of(*choices: bytes) -> Draw:
    return lambda drawing: drawing.one(choices)


def below(limit: int) -> Draw:
    return lambda drawing: drawing.number(limit)


def entry_id(drawing: Drawing) -> bytes:
    """Small, so that IDs meet; or an edge; or near the clock, where `*` puts them."""
    kind = drawing.random.random()
    if kind < 0.1:
        return drawing.one(EDGE_IDS)
    if kind < 0.3:
        return drawing.one((b"$", b"+", b"-", b">", b"0"))
    ms = drawing.random.randrange(14)
    if kind < 0.5:
        ms = max(0, drawing.now_ms + drawing.random.randrange(-2000, 2000))
    return b"%d" % ms + drawing.one((b"", b"-0", b"-0", b"-1", b"-2"))


def range_end(*special: bytes) -> Draw:
    def draw(drawing: Drawing) -> bytes:
        if drawing.chance(0.5):
            return drawing.one(special)
        return drawing.one((b"", b"", b"(")) + entry_id(drawing)

    return draw


def unix_time(unit_ms: int) -> Draw:
    def draw(drawing: Drawing) -> bytes:
        ms = drawing.now_ms + drawing.random.choice((-1000, 0, 1, 100, 1000, 10_000_000))
        return b"%d" % (ms // unit_ms)

    return draw


def parameter(drawing: Drawing) -> bytes:
    drawing.directive = drawing.random.choice(PARAMETERS)
    return drawing.directive.encode()


def value(drawing: Drawing) -> bytes:
    """Of a string or field; after a directive's name mostly one that it accepts."""
    if drawing.directive and drawing.chance(0.3):
        return drawing.one(DIRECTIVE_VALUES)
    if drawing.directive in DIRECTIVES:
        directive = DIRECTIVES[drawing.directive]
        return directive.kind.format(directive.default).encode()
    return any_text(drawing)


def number_of_keys(drawing: Drawing) -> bytes:
    return b"%d" % drawing.repeats if drawing.chance(0.95) else drawing.number(5)


def member(drawing: Drawing) -> bytes:
    """Few, so that sets have members in common; rarely a text of any kind."""
    if drawing.chance(0.05):
        return any_text(drawing)
    return drawing.one((b"a", b"b", b"c", b"1", b"2", b"30", b"-4"))


def command_name(drawing: Drawing) -> bytes:
    return drawing.random.choice(ALL_COMMANDS).fullname


BY_TYPE: dict[str, Draw] = {
    "key": lambda drawing: drawing.one(drawing.keys),
    "pattern": one_of(*PATTERNS),
    "integer": below(8),
    "double": one_of(b"0.1", b"-2.5", b"1e3", b"3.0e-5", b"1e17", b"inf"),
}
BY_NAME: dict[str, Draw] = {
    "id": entry_id,
    "numkeys": number_of_keys,
    "member": member,
    "member1": member,
    "member2": member,
    "element": member,
    "score": one_of(b"0", b"0", b"1", b"2", b"-1.5", b"0.1", b"inf", b"-inf", b"nan", b"-0"),
    "weight": one_of(b"1", b"2", b"0.5", b"-1", b"0", b"inf", b"x"),
    "min": one_of(b"0", b"-inf", b"(1", b"-", b"[a", b"(b", b"x"),
    "max": one_of(b"9", b"+inf", b"(2", b"+", b"[c", b"(a", b"x"),
    "longitude": one_of(b"13.4", b"-77.1", b"0", b"180", b"-180", b"181", b"x"),
    "latitude": one_of(b"52.5", b"-12.04", b"0", b"85.05", b"-85.05", b"90", b"x"),
    "radius": one_of(b"0", b"1", b"500", b"20000", b"1e9", b"-1"),
    "width": one_of(b"0", b"1", b"500", b"20000", b"-1"),
    "height": one_of(b"0", b"1", b"500", b"20000", b"-1"),
    "ticket": entry_id,
    "start": range_end(b"-", b"0"),
    "end": range_end(b"+", b"9"),
    "lastid": entry_id,
    "last-id": entry_id,
    "max-deleted-id": entry_id,
    "threshold": lambda drawing: drawing.number(12) if drawing.chance(0.5) else entry_id(drawing),
    "value": value,
    "parameter": parameter,
    "group": one_of(b"g", b"g", b"g", b"h", b""),
    "consumer": one_of(b"alice", b"bob", b"carol", b""),
    "field": one_of(b"f", b"f", b"g", b"", b"\x00\r\n"),
    "numfields": one_of(b"1", b"1", b"1", b"2", b"3"),
    "min-idle-time": one_of(b"0", b"0", b"1", b"1000", b"-1", b"x"),
    "ms": one_of(b"0", b"1", b"5000", b"-1"),
    "timeout": one_of(b"0", b"1", b"100"),
    "seconds": one_of(*LIFETIMES),
    "milliseconds": one_of(*LIFETIMES),
    "unix-time-seconds": unix_time(1000),
    "unix-time-milliseconds": unix_time(1),
    "db": below(4),
    "destination-db": below(4),
    "index": below(4),
    "index1": below(4),
    "index2": below(4),
    "client-id": below(2 * CLIENTS),
    "ip:port": lambda drawing: b"127.0.0.1:%d" % (10_000 + drawing.random.randrange(8)),
    "username": one_of(b"default", b"nobody"),
    "password": one_of(b"secret", b"wrong", b""),
    "protover": one_of(b"2", b"3", b"3", b"4"),
    "type": one_of(b"stream", b"string", b"hash", b"x"),
    "channel": one_of(b"news", b"__keyspace@0__:s", b"__redis__:invalidate"),
    "shardchannel": one_of(b"news", b"s"),
    "prefix": one_of(b"", b"s", b"t", b"text", b"te"),
    "command": command_name,
    "command-name": command_name,
    "event": one_of(b"command", b"fast-command", b"expire-cycle", b"x"),
    "category": one_of(b"stream", b"@write", b"fast", b"x"),
    "section": one_of(b"all", b"everything", b"default", b"clients", b"commandstats", b"x"),
    "subcommand": one_of(b"SLEEP", b"OBJECT", b"SET-ACTIVE-EXPIRE", b"STRINGMATCH-LEN", b"HELP"),
}

OFFSETS = (b"0", b"1", b"2", b"-1", b"-3", b"100", b"1048575", b"9223372036854775807")
# The range of a string goes from an offset to an offset, that of a stream from an ID to an ID.
NOT_IDS = ("start", "end", "offset")
DIRECTIVE_VALUES = (b"yes", b"no", b"0", b"1", b"3", b"100", b"1gb", b"KEA", b"", b"x", b"50 99")
# proto-max-bulk-len is what keeps SETRANGE from filling the memory.
PARAMETERS = [name for name in NAMES if name != "proto-max-bulk-len"] + ["*", "*max*", "x"]


def _all_commands() -> list[Command]:
    """Every command that can be sent, sub-commands one by one."""
    found: list[Command] = []
    for name in sorted(COMMANDS):
        found += COMMANDS[name].subcommands.values() or [COMMANDS[name]]
    return found


def _tokens(syntax: list[Argument]) -> list[bytes]:
    found = [argument.token.encode() for argument in syntax if argument.token]
    return found + [token for argument in syntax for token in _tokens(argument.arguments)]


# How often a command is drawn; 2 where nothing is said. What ends a client or empties a database
# would end what makes a round interesting, and a few replies are long.
WEIGHTS = {
    "xadd": 60, "xreadgroup": 60, "xread": 30, "xautoclaim": 25, "xclaim": 25, "xack": 25,
    "xpending": 15, "xtrim": 15, "xdel": 15, "xrange": 10, "xrevrange": 10, "xlen": 4,
    "xgroup|create": 10, "xgroup|setid": 10, "xgroup|createconsumer": 6, "xgroup|delconsumer": 6,
    "xgroup|destroy": 4, "xinfo|stream": 10, "xinfo|groups": 6, "xinfo|consumers": 6, "xsetid": 6,
    "hset": 12, "rpush": 8, "lpush": 4, "sadd": 8, "zadd": 10, "hexpire": 6, "hpexpire": 6,
    "set": 5, "rename": 3, "copy": 5, "client|unblock": 10, "client|tracking": 4, "reset": 3,
    "flushall": 1, "flushdb": 1, "swapdb": 1, "quit": 1, "command|docs": 1,
    "command|list": 1, "command|info": 1, "client|kill": 1, "client|pause": 1, "select": 1,
    "lolwut": 1, "monitor": 1, "subscribe": 1, "psubscribe": 1, "ssubscribe": 1, "multi": 1,
    # What they are answered is no reply, but what a replica is fed.
    "sync": 0, "psync": 0,
    # And a replica does not answer clients of its primary any more.
    "replicaof": 0, "slaveof": 0, "failover": 0,
    # A server that ends answers nobody.
    "shutdown": 0,
}  # fmt: skip

ALL_COMMANDS = _all_commands()
WEIGHTED = [found for found in ALL_COMMANDS for _ in range(WEIGHTS.get(found.fullname.decode(), 2))]
assert all(name.encode() in {c.fullname for c in ALL_COMMANDS} for name in WEIGHTS)
# In the order of the table, so that a seed means the same round in every process.
SYNTAXES = [parse_syntax(row_of(found).syntax) for found in ALL_COMMANDS]
TOKENS = tuple(dict.fromkeys(token for syntax in SYNTAXES for token in _tokens(syntax)))
