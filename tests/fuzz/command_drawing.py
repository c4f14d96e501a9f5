"""Rounds of the command fuzzer: what several clients send, and what the clock does meanwhile.

Commands are drawn from the table of commands: each one's `syntax` is the grammar of its arguments,
the names in it say which values fit. Most rounds keep to few keys, groups and small IDs, so that
commands meet; then arguments are swapped, dropped, doubled or replaced by edges and nonsense.

A round is data and does not look at the server: the same seed gives the same round, and a round
with steps taken out can be played again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import commands.catalogue  # noqa: F401  (declares every command)
from commands.configuration import NAMES
from commands.registry import COMMANDS, Argv, Command
from commands.syntax import Argument, parse_syntax

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
    """A client goes. Unless `told`, the server only finds out when it looks at the socket."""

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

KEYS = (b"s", b"s", b"s", b"t", b"u", b"text", b"text", b"count", b"", b"a" * 70, b"\x00\xff\r\n")
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

    def one(self, choices: tuple[bytes, ...]) -> bytes:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def number(self, limit: int) -> bytes:
        return b"%d" % self.random.randrange(limit)

    # -- rounds --------------------------------------------------------------------------------

    def round(self, length: int) -> Round:
        self.now_ms = self.random.choice((FIRST_MS,) * 6 + (1,))
        drawn = Round(self.now_ms, self.directives())
        drawn.steps = [self.step() for _ in range(length)]
        return drawn

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
        if self.chance(0.1):
            directives["requirepass"] = "secret"
        return directives

    def step(self) -> Step:
        kind = self.random.random()
        client = self.random.randrange(CLIENTS)
        if kind < 0.06:
            return Clock(self.clock_step())
        if kind < 0.08:
            return Leave(client, told=self.chance(0.5))
        count = 1 if self.chance(0.85) else self.random.randrange(2, 12)
        return Send(client, tuple(tuple(self.request()) for _ in range(count)))

    def clock_step(self) -> int:
        ms = self.random.choice((1, 2, 10, 100, 1000, 100_000, -1, -3, -500, -100_000))
        ms = max(ms, 1 - self.now_ms)
        self.now_ms += ms
        return ms

    # -- requests ------------------------------------------------------------------------------

    def request(self) -> Argv:
        found = self.random.choice(WEIGHTED)
        argv = found.fullname.split(b"|")
        argv += self.arguments(parse_syntax(found.syntax, found.fullname.decode()))
        for _ in range(self.random.choice((0,) * 8 + (1, 1, 1, 2, 5))):
            self.mutate(argv)
        if not argv or self.chance(0.01):
            argv.insert(0, self.one(TEXTS))
        if self.chance(0.3):
            argv[0] = argv[0].upper()
        return argv

    def arguments(self, syntax: list[Argument]) -> Argv:
        """Words for a sequence of arguments; keys and their IDs come in equal numbers."""
        repeats = self.random.choice((1, 1, 1, 1, 2, 3, 0))
        if self.chance(0.01):
            repeats = 300
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
        if argument.type in ("integer", "double") and self.chance(0.15):
            return [self.one(EDGE_NUMBERS)]
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
    if kind < 0.15:
        return drawing.one(EDGE_IDS)
    ms = drawing.random.randrange(14)
    if kind < 0.3:
        ms = max(0, drawing.now_ms + drawing.random.randrange(-2000, 2000))
    sequence = drawing.one((b"", b"-0", b"-1", b"-2"))
    return drawing.one((b"", b"", b"", b"(")) + b"%d" % ms + sequence


def unix_time(unit_ms: int) -> Draw:
    def draw(drawing: Drawing) -> bytes:
        ms = drawing.now_ms + drawing.random.choice((-1000, 0, 1, 100, 1000, 10_000_000))
        return b"%d" % (ms // unit_ms)

    return draw


def parameter(drawing: Drawing) -> bytes:
    return drawing.random.choice(PARAMETERS).encode()


def command_name(drawing: Drawing) -> bytes:
    return drawing.random.choice(ALL_COMMANDS).fullname


BY_TYPE: dict[str, Draw] = {
    "key": one_of(*KEYS),
    "pattern": one_of(*PATTERNS),
    "integer": below(8),
    "double": one_of(b"0.1", b"-2.5", b"1e3", b"3.0e-5", b"1e17", b"inf"),
}
BY_NAME: dict[str, Draw] = {
    "id": entry_id,
    "start": entry_id,
    "end": entry_id,
    "lastid": entry_id,
    "last-id": entry_id,
    "max-deleted-id": entry_id,
    "threshold": lambda drawing: drawing.number(12) if drawing.chance(0.5) else entry_id(drawing),
    "group": one_of(b"g", b"g", b"g", b"h", b""),
    "consumer": one_of(b"alice", b"bob", b"carol", b""),
    "field": one_of(b"f", b"f", b"g", b"", b"\x00\r\n"),
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
    "parameter": parameter,
    "command": command_name,
    "command-name": command_name,
    "event": one_of(b"command", b"fast-command", b"expire-cycle", b"x"),
    "category": one_of(b"stream", b"@write", b"fast", b"x"),
    "section": one_of(b"all", b"everything", b"default", b"clients", b"commandstats", b"x"),
    "subcommand": one_of(b"SLEEP", b"OBJECT", b"SET-ACTIVE-EXPIRE", b"STRINGMATCH-LEN", b"HELP"),
}

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


# How often a command of a group is drawn; where many commands share nothing, rarely.
WEIGHTS = {"stream": 16, "transactions": 6, "string": 3, "generic": 3}
# Long replies, or the end of what makes a round interesting.
RARE = {b"command|docs", b"command|list", b"command|info", b"lolwut", b"flushall", b"flushdb"}

ALL_COMMANDS = _all_commands()
WEIGHTED = [
    found
    for found in ALL_COMMANDS
    for _ in range(1 if found.fullname in RARE else WEIGHTS.get(found.group, 2))
]
# In the order of the table, so that a seed means the same round in every process.
TOKENS = tuple(dict.fromkeys(t for c in ALL_COMMANDS for t in _tokens(parse_syntax(c.syntax))))
