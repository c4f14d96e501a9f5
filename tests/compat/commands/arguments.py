"""The arguments of drawn commands: valid ones that collide, edge cases, and nonsense.

Keys, groups and consumers are few, entry IDs are small, and limits of time are either certainly
passed or certainly not: two servers that are asked a few ms apart must agree.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.compat.commands.payloads import PAYLOADS, REFUSED
from tests.compat.commands.strategies import Argument, Draft, Drafts, Rising, mostly, one_of

MAX_ID = b"18446744073709551615-18446744073709551615"

stream_key = mostly(one_of(b"s", b"s", b"s", b"s", b"t"), one_of(b"text", b"missing", b""))
string_key = mostly(one_of(b"text", b"count"), one_of(b"s", b"missing", b""))
any_key = one_of(b"s", b"t", b"text", b"count", b"missing", b"set", b"zset", b"list", b"hash")
group = mostly(one_of(b"g", b"g", b"h"), one_of(b"", b"nogroup"))
consumer = mostly(one_of(b"alice", b"bob"), one_of(b"", b"carol"))

odd_number = one_of(
    b"-1", b"0", b"x", b"", b"1.5", b" 1", b"+1", b"01", b"1e3", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775808", b"18446744073709551616",
    b"1152921504606846975", b"576460752303423488",
)  # fmt: skip
small_number = st.integers(0, 6).map(lambda number: b"%d" % number)
count = mostly(small_number, odd_number)

field = one_of(b"f", b"f", b"f", b"g", b"", b"\x00\r\n", b"temperature")
value = mostly(
    one_of(b"1", b"-17", b"x", b"", b"9223372036854775807", b"a longer value of some words"),
    one_of(b"\xff\x00", b"v" * 300, b"v" * 5000),
)
fields: Drafts = st.lists(st.tuples(field, value), min_size=1, max_size=3).map(
    lambda pairs: [part for pair in pairs for part in pair]
)

# What entries have, what they might have, and (rarely) anything.
known_id = st.integers(1, 5).map(lambda ms: b"%d-0" % ms)
possible_id = st.builds(
    lambda ms, sequence: b"%d%b" % (ms, sequence),
    st.integers(0, 10),
    one_of(b"", b"-0", b"-0", b"-1"),
)
plain_id = st.one_of(known_id, known_id, possible_id)
odd_id = one_of(
    b"-", b"+", b"$", b">", b"*", b"0-*", b"3-*", b"(", b"(-", b"(+", b"((1-0", MAX_ID,
    b"(" + MAX_ID, b"18446744073709551615", b"18446744073709551616", b"0-0", b"(0-0",
    b"0-18446744073709551615", b"1-18446744073709551616", b"", b"-1", b"1-", b"1--1", b"1-1-1",
    b"x", b"1.5", b"007-01", b"+1-+1", b" 1- 1", b"1-1 ", b"0x1-0", b"9" * 130,
    b"1-" + b"0" * 130,
)  # fmt: skip
stored_id = mostly(plain_id, odd_id)
stored_ids: Drafts = st.lists(stored_id, min_size=1, max_size=6)
exclusive_id = plain_id.map(lambda one: b"(" + one)
interval_start = st.one_of(one_of(b"-", b"-", b"0"), stored_id, exclusive_id)
interval_end = st.one_of(one_of(b"+", b"+", b"9"), stored_id, exclusive_id)
next_id: SearchStrategy[Argument] = st.sampled_from(
    [Rising(b"%d-*"), Rising(b"%d-*"), Rising(b"%d"), Rising(b"%d-0"), Rising(b"%d-1")]
)
new_id: SearchStrategy[Argument] = mostly(next_id, stored_id)
# For XSETID, which in Redis 7.0 may set an ID below deleted entries ("XSETID" in differences.py).
next_or_invalid_id: SearchStrategy[Argument] = mostly(next_id, one_of(b"x", b"-", b"$", b"*", b""))

# 100 s is the limit asked for; entries are younger than that unless IDLE or TIME made them older.
min_idle_ms = mostly(one_of(b"0", b"0", b"100000"), odd_number)
idle_ms = mostly(one_of(b"0", b"50000", b"200000"), odd_number)
past_ms = mostly(one_of(b"1700000000000", b"1"), odd_number)
block_ms = mostly(one_of(b"1", b"0"), odd_number)

# What is compared with the time left (GT, LT) must be no other command's, or a ms would decide.
new_seconds_to_live: SearchStrategy[Argument] = st.just(Rising(b"%d50000"))
new_ms_to_live: SearchStrategy[Argument] = st.just(Rising(b"%d50000000"))
seconds_to_live = mostly(one_of(b"100000", b"200000"), odd_number)
ms_to_live = mostly(one_of(b"100000000", b"200000000"), odd_number)
unix_seconds = mostly(one_of(b"4102444800", b"4202444800"), odd_number)
unix_ms = mostly(one_of(b"4102444800000", b"4202444800000"), odd_number)

text = mostly(
    one_of(b"", b"1", b"42", b"-7", b"3.5", b"hello", b"10000", b"0.1", b"1e2"),
    one_of(b"x" * 44, b"x" * 45, b"\xff\x00", b" 1", b"01", b"9223372036854775807", b"inf", b"nan"),
)
payload = mostly(one_of(*PAYLOADS), one_of(*REFUSED))
# What overflows when the time is added makes no key in Redis, and is not drawn.
restored_ms_to_live = mostly(
    one_of(b"0", b"0", b"100000000", b"4102444800000"), one_of(b"-1", b"x", b"1.5", b"")
)
no_idle_seconds = mostly(one_of(b"0"), one_of(b"-1", b"x", b""))
change = mostly(small_number, odd_number)
float_change = one_of(
    b"0.1", b"1", b"-2.5", b"1e3", b"x", b"", b"inf", b"nan", b" 1", b"3.0e-5", b"1e400", b"0x10",
)  # fmt: skip
offset = mostly(st.integers(-8, 8).map(lambda number: b"%d" % number), odd_number)


def streams_and_ids(ids: SearchStrategy[bytes]) -> Drafts:
    """`STREAMS key ... id ...` for one to three keys, rarely with one argument missing."""
    pairs = st.lists(st.tuples(stream_key, ids), min_size=1, max_size=3)
    whole = pairs.map(_keys_then_ids)
    return mostly(whole, whole.map(lambda arguments: arguments[:-1]))


def _keys_then_ids(pairs: list[tuple[bytes, bytes]]) -> Draft:
    return [b"STREAMS", *(key for key, _ in pairs), *(entry_id for _, entry_id in pairs)]
