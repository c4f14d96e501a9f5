"""SORT and LCS, for the comparison with a real Redis.

Elements that compare as equal by ALPHA come in no promised order where there is a LIMIT, too: those
are not drawn together.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.compat.commands import arguments as arg
from tests.compat.commands.strategies import (
    Draft,
    Drafts,
    command,
    mostly,
    one_of,
    some_of,
    sometimes,
    weighted,
)

sorted_key = mostly(
    one_of(b"numbers", b"numbers", b"words", b"set", b"zset", b"mixed"),
    one_of(b"text", b"missing", b"weight:1", b""),
)
# Redis goes through a set or a sorted set in no promised order, which shows where texts are alike.
listed_key = mostly(
    one_of(b"numbers", b"numbers", b"words", b"mixed"),
    one_of(b"text", b"missing", b"weight:1", b""),
)
target = mostly(one_of(b"sorted", b"sorted", b"numbers"), one_of(b"text", b"set"))
number_pattern = mostly(
    one_of(b"weight:*", b"hash:*->weight", b"missing:*", b"nosort", b"#"),
    one_of(b"", b"*", b"*->", b"hash:*->", b"hash:*->none", b"text*", b"weight:*->x"),
)
text_pattern = one_of(b"name:*", b"hash:*->name", b"nosort")
got = mostly(
    one_of(b"#", b"weight:*", b"name:*", b"hash:*->name", b"missing:*"),
    one_of(b"", b"*", b"nostar", b"hash:*->", b"*->name"),
)
limit = command(b"LIMIT", arg.small_number, arg.small_number)
odd_limit = command(b"LIMIT", arg.count, arg.count)
direction = one_of(b"ASC", b"DESC", b"desc")
_gets_and_direction = some_of(command(direction), command(b"GET", got), command(b"GET", got))
_common = some_of(mostly(limit, odd_limit), command(direction), command(b"GET", got))
_store = sometimes(b"STORE", target)
_by_number = sometimes(b"BY", number_pattern)
_by_itself = command(b"ALPHA", _common)
_by_text = command(b"ALPHA", b"BY", text_pattern, _gets_and_direction)

letters = st.text("abc", max_size=12).map(str.encode)
letter_key = mostly(one_of(b"letters", b"letters2"), one_of(b"numbers", b"missing"))
lcs_command: Drafts = weighted(
    (2, command(b"SET", letter_key, letters)),
    (
        5,
        command(
            b"LCS",
            letter_key,
            letter_key,
            some_of(
                command(b"LEN"),
                command(b"IDX"),
                command(b"MINMATCHLEN", arg.count),
                command(b"WITHMATCHLEN"),
            ),
        ),
    ),
)

sort_command: Drafts = weighted(
    (6, command(b"SORT", sorted_key, _by_number, _common, _store)),
    (3, command(b"SORT", sorted_key, _by_itself, _store)),
    (3, command(b"SORT", listed_key, _by_text, _store)),
    (2, command(b"SORT_RO", sorted_key, _by_number, _common)),
    (1, command(b"SORT_RO", sorted_key, _by_itself, _store)),
    (1, command(b"SORT_RO", listed_key, _by_text, _store)),
    (1, command(b"RPUSH", b"numbers", one_of(b"4", b"-1", b"1.5", b"1e3", b"x", b"", b" 2"))),
    (1, command(b"LPOP", b"numbers")),
    (1, command(b"OBJECT", b"ENCODING", one_of(b"sorted", b"zset"))),
    (2, command(b"LRANGE", b"sorted", b"0", b"-1")),
    (8, lcs_command),
)

_hashes: list[Draft] = [
    [b"HSET", b"hash:%d" % number, b"weight", b"%d" % (number % 4), b"name", b"n%d" % -number]
    for number in (1, 2, 3, 10)
]
SORTED: list[Draft] = [
    [b"RPUSH", b"numbers", b"3", b"1", b"2", b"10"],
    [b"RPUSH", b"words", b"b", b"a", b"C", b"", b"\xff"],
    [b"RPUSH", b"mixed", b"1", b"x"],
    [b"SADD", b"set", b"3", b"1", b"2"],
    [b"ZADD", b"zset", b"1", b"3", b"2", b"1", b"3", b"2"],
    [b"MSET", b"weight:1", b"5", b"weight:2", b"-1.5", b"weight:3", b"5", b"weight:10", b"0x10"],
    [b"MSET", b"name:1", b"one", b"name:2", b"two", b"name:3", b"three", b"name:10", b"ten"],
    *_hashes,
    [b"MSET", b"letters", b"abcabba", b"letters2", b"cbabac"],
    [b"SET", b"text", b"hello"],
]
