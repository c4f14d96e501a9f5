"""Commands on hashes, for the comparison with a real Redis."""

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

hash_key = mostly(
    one_of(b"hash", b"hash", b"hash", b"hash2"), one_of(b"s", b"text", b"missing", b"")
)
name = mostly(one_of(b"f", b"g", b"n", b"n", b"x"), one_of(b"", b"\x00\r\n\xff", b"7", b"l" * 65))
names: Drafts = st.lists(name, min_size=1, max_size=4)
text = mostly(
    one_of(b"1", b"-17", b"0.5", b"abc", b"10", b""),
    one_of(b"9223372036854775807", b" 1", b"01", b"1e3", b"inf", b"nan", b"v" * 65),
)
pairs: Drafts = st.lists(st.tuples(name, text), min_size=1, max_size=4).map(
    lambda drawn: [part for pair in drawn for part in pair]
)
chosen_count = mostly(one_of(b"0", b"1", b"9", b"-3"), one_of(b"x", b"", b"-9223372036854775808"))
with_values = mostly(one_of(b"WITHVALUES", b"withvalues"), one_of(b"WITHSCORES", b""))

hash_command: Drafts = weighted(
    (6, command(one_of(b"HSET", b"HSET", b"HMSET"), hash_key, pairs)),
    (2, command(b"HSETNX", hash_key, name, text)),
    (3, command(b"HDEL", hash_key, names)),
    (2, command(one_of(b"HGET", b"HEXISTS", b"HSTRLEN"), hash_key, name)),
    (1, command(b"HMGET", hash_key, names)),
    (2, command(one_of(b"HGETALL", b"HKEYS", b"HVALS", b"HLEN"), hash_key)),
    (3, command(b"HINCRBY", hash_key, name, arg.change)),
    (3, command(b"HINCRBYFLOAT", hash_key, name, arg.float_change)),
    (1, command(b"HRANDFIELD", hash_key)),
    (1, command(b"HRANDFIELD", hash_key, chosen_count, sometimes(with_values))),
    (
        1,
        command(
            b"HSCAN",
            hash_key,
            one_of(b"0", b"0", b"0", b"x"),
            some_of(
                command(b"MATCH", one_of(b"*", b"[f-n]", b"x", b"")),
                command(b"COUNT", one_of(b"100", b"1000", b"0", b"x")),
            ),
        ),
    ),
)

HASHES: list[Draft] = [
    [b"HSET", b"hash", b"f", b"1", b"g", b"abc", b"n", b"10"],
    [b"HSET", b"hash2", b"x", b"0.5"],
    [b"SET", b"text", b"hello"],
]
HASHES_CLOSING: list[list[bytes]] = [
    *([b"HGETALL", key] for key in (b"hash", b"hash2")),
    *([b"OBJECT", b"ENCODING", key] for key in (b"hash", b"hash2")),
    *([b"DUMP", key] for key in (b"hash", b"hash2")),
]
