"""Whole sequences of commands for the comparison with a real Redis.

Commands are drawn independently of each other, so that hypothesis can drop any of them when it
looks for the shortest sequence that still fails. What depends on the others is filled in last, by
`resolved`. `CLOSING` reads the whole state back, so that a difference which no reply has shown yet
still fails the sequence that caused it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.compat.commands.bits import BITS, BITS_CLOSING, bit_command
from tests.compat.commands.catalogue import (
    key_command,
    misspelt,
    stream_command,
    string_command,
    transaction_command,
)
from tests.compat.commands.hashes import HASHES, HASHES_CLOSING, hash_command
from tests.compat.commands.hyperloglogs import (
    HYPERLOGLOGS,
    HYPERLOGLOGS_CLOSING,
    hyperloglog_command,
)
from tests.compat.commands.lists import LISTS, LISTS_CLOSING, list_command
from tests.compat.commands.sets import SETS, geo_command, set_command, sorted_set_command
from tests.compat.commands.sort import SORTED, sort_command
from tests.compat.commands.strategies import Argument, Draft, Drafts, Rising, mostly, weighted

Argv: TypeAlias = list[bytes]

LONGEST_BLOCK_MS = 2
TIMED_LAST = (b"BLPOP", b"BRPOP", b"BZPOPMIN", b"BZPOPMAX")  # whose timeout is the last argument
READING_COMMANDS = (b"XREAD", b"XREADGROUP")
ALL_ENTRIES = (b"-", b"+")


@dataclass(frozen=True)
class Sequence:
    """Commands for one connection, and the size of the nodes that they run with."""

    max_node_entries: int
    commands: list[Argv]


# Most of the sequences start with something to work on.
NOTHING: list[Draft] = []
ENTRIES_AND_GROUPS: list[Draft] = [
    [b"XADD", b"s", Rising(b"%d-0"), b"f", b"1"],
    [b"XADD", b"s", Rising(b"%d-0"), b"f", b"2"],
    [b"XADD", b"s", Rising(b"%d-0"), b"g", b"3"],
    [b"XADD", b"s", Rising(b"%d-0"), b"f", b"4"],
    [b"XGROUP", b"CREATE", b"s", b"g", b"0"],
    [b"XGROUP", b"CREATE", b"s", b"h", b"0"],
    [b"XGROUP", b"CREATE", b"t", b"g", b"0", b"MKSTREAM"],
    [b"XGROUP", b"CREATE", b"t", b"h", b"$"],
    [b"SET", b"text", b"hello"],
    [b"SET", b"count", b"10"],
]
DELIVERIES: list[Draft] = [
    *ENTRIES_AND_GROUPS,
    [b"XREADGROUP", b"GROUP", b"g", b"alice", b"COUNT", b"2", b"STREAMS", b"s", b">"],
    [b"XREADGROUP", b"GROUP", b"g", b"bob", b"COUNT", b"1", b"STREAMS", b"s", b">"],
    [b"XREADGROUP", b"GROUP", b"h", b"bob", b"STREAMS", b"s", b">"],
]

CLOSING: list[Argv] = [
    [b"DISCARD"],
    [b"SELECT", b"1"],
    [b"KEYS", b"*"],
    [b"SELECT", b"0"],
    [b"KEYS", b"*"],
    *([b"PTTL", key] for key in (b"s", b"t", b"text", b"count")),
    *([b"OBJECT", b"ENCODING", key] for key in (b"text", b"count")),
    *([b"OBJECT", b"ENCODING", key] for key in (b"set", b"set2", b"zset", b"zset2")),
    *([b"SMEMBERS", key] for key in (b"set", b"set2")),
    *([b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"] for key in (b"zset", b"zset2", b"level")),
    *([b"GET", key] for key in (b"text", b"count")),
    *([b"XRANGE", key, *ALL_ENTRIES] for key in (b"s", b"t")),
    *([b"XINFO", b"STREAM", key, b"FULL", b"COUNT", b"0"] for key in (b"s", b"t")),
    *(
        [b"XPENDING", key, group, *ALL_ENTRIES, b"99"]
        for key in (b"s", b"t")
        for group in (b"g", b"h")
    ),
    *LISTS_CLOSING,
    *HASHES_CLOSING,
    *BITS_CLOSING,
    *HYPERLOGLOGS_CLOSING,
]


OPENINGS = [
    NOTHING,
    ENTRIES_AND_GROUPS,
    DELIVERIES,
    DELIVERIES,
    SETS,
    SETS,
    LISTS,
    HASHES,
    BITS,
    HYPERLOGLOGS,
    SORTED,
]


def sequences() -> SearchStrategy[Sequence]:
    """Sequences of some tens of commands: streams above all, keys and strings among them."""
    return st.builds(
        _sequence,
        st.sampled_from([100, 1, 2, 3, 10]),
        st.sampled_from(OPENINGS),
        st.one_of(
            _steps_of(_streams_mostly),
            _steps_of(_streams_mostly),
            _steps_of(_keys_mostly),
            _steps_of(_sets_mostly),
            _steps_of(_lists_mostly),
            _steps_of(_hashes_mostly),
            _steps_of(_bits_mostly),
            _steps_of(hyperloglog_command),
            _steps_of(sort_command),
        ),
    )


_streams_mostly = weighted((16, stream_command), (2, key_command), (1, string_command))
_sets_mostly = weighted(
    (5, set_command), (7, sorted_set_command), (2, geo_command), (2, key_command)
)
_bits_mostly = weighted((12, bit_command), (1, key_command), (1, string_command))
_lists_mostly = weighted((12, list_command), (2, key_command), (1, stream_command))
_hashes_mostly = weighted((12, hash_command), (2, key_command), (1, string_command))
_keys_mostly = weighted((1, stream_command), (2, key_command), (3, string_command))


def _steps_of(commands: Drafts) -> SearchStrategy[list[list[Draft]]]:
    unusual = st.one_of(misspelt(commands), transaction_command)
    single = st.integers(1, 10).flatmap(lambda number: unusual if number == 10 else commands)
    transaction = st.builds(
        lambda inner, end: [[b"MULTI"], *inner, [end]],
        st.lists(mostly(commands, misspelt(commands)), min_size=1, max_size=4),
        st.sampled_from([b"EXEC", b"EXEC", b"EXEC", b"DISCARD"]),
    )
    alone = single.map(lambda draft: [draft])
    step = st.integers(1, 10).flatmap(lambda number: transaction if number == 10 else alone)
    # Lists of lists, because a single list is rarely drawn longer than ten.
    return st.lists(st.lists(step, max_size=10), min_size=1, max_size=8).map(
        lambda parts: [one for part in parts for one in part]
    )


def _sequence(max_node_entries: int, opening: list[Draft], steps: list[list[Draft]]) -> Sequence:
    drafts = opening + [draft for step in steps for draft in step]
    return Sequence(max_node_entries, resolved(drafts))


def resolved(drafts: list[Draft]) -> list[Argv]:
    """The drafts as commands that two servers can run one after the other.

    Numbers are filled in, and no command waits longer than LONGEST_BLOCK_MS.
    """
    commands: list[Argv] = []
    number = 0
    in_transaction = False
    for draft in drafts:
        number += any(isinstance(argument, Rising) for argument in draft)
        argv = [_filled_in(argument, number) for argument in draft]
        name = argv[0].upper()
        in_transaction = name == b"MULTI" or (in_transaction and name not in (b"EXEC", b"DISCARD"))
        argv = with_short_block(argv, may_wait=not in_transaction)
        commands += [argv, *_undone(argv)]
    return commands


def _filled_in(argument: Argument, number: int) -> bytes:
    return argument.form % number if isinstance(argument, Rising) else argument


def with_short_block(argv: Argv, *, may_wait: bool) -> Argv:
    """A command that waits for ever, or long, waits LONGEST_BLOCK_MS instead.

    Where it cannot wait, 0 may stay.
    """
    if argv[0].upper() in TIMED_LAST and argv[-1].isdigit():
        return [*argv[:-1], b"0.00%d" % LONGEST_BLOCK_MS]
    if argv[0].upper() not in READING_COMMANDS:
        return argv
    short = list(argv)
    for position in range(2, len(argv)):
        if argv[position - 1].upper() == b"BLOCK" and _is_long(argv[position], may_wait):
            short[position] = b"%d" % LONGEST_BLOCK_MS
    return short


def _is_long(block_ms: bytes, may_wait: bool) -> bool:
    try:
        return (may_wait and int(block_ms) == 0) or int(block_ms) > LONGEST_BLOCK_MS
    except ValueError:
        return False


def _undone(argv: Argv) -> list[Argv]:
    """SPOP of a single member leaves another set on each server: the rest is removed, too."""
    is_random = argv[0].upper() == b"SPOP" and len(argv) == 2
    return [[b"DEL", argv[1]]] if is_random else []
