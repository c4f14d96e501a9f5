"""Commands on lists, for the comparison with a real Redis."""

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

list_key = mostly(
    one_of(b"list", b"list", b"list", b"list2"), one_of(b"s", b"text", b"missing", b"")
)
list_keys: Drafts = st.lists(list_key, min_size=1, max_size=3)
element = mostly(
    one_of(b"a", b"b", b"c", b"a", b"b", b"7", b"-1"),
    one_of(b"", b"\x00\r\n\xff", b"007", b"9223372036854775807", b"v" * 300, b"w" * 9000),
)
elements: Drafts = st.lists(element, min_size=1, max_size=5)
index = mostly(st.integers(-7, 7).map(lambda number: b"%d" % number), arg.odd_number)
count = mostly(one_of(b"0", b"1", b"2", b"3", b"9"), arg.odd_number)
side = mostly(one_of(b"LEFT", b"RIGHT", b"left", b"Right"), one_of(b"UP", b""))
# 0 is for ever, and so is what is rounded to it.
timeout = mostly(one_of(b"0.001", b"1e-3", b"0x.01"), one_of(b"x", b"", b" 1", b"-1", b"nan"))
numkeys = mostly(st.none(), arg.odd_number)


@st.composite
def counted_keys(draw: st.DrawFn) -> Draft:
    """`numkeys key [key ...]`, rarely with another number."""
    keys = draw(list_keys)
    return [draw(numkeys) or b"%d" % len(keys), *keys]


_search_options = some_of(
    command(b"RANK", index), command(b"COUNT", count), command(b"MAXLEN", count)
)
_pop_options = command(side, sometimes(b"COUNT", count))

list_command: Drafts = weighted(
    (4, command(one_of(b"LPUSH", b"RPUSH"), list_key, elements)),
    (1, command(one_of(b"LPUSHX", b"RPUSHX"), list_key, elements)),
    (2, command(one_of(b"LPOP", b"RPOP"), list_key)),
    (2, command(one_of(b"LPOP", b"RPOP"), list_key, count)),
    (1, command(b"LLEN", list_key)),
    (2, command(b"LRANGE", list_key, index, index)),
    (2, command(b"LINDEX", list_key, index)),
    (2, command(b"LSET", list_key, index, element)),
    (
        2,
        command(
            b"LINSERT",
            list_key,
            mostly(one_of(b"BEFORE", b"after"), one_of(b"BESIDE")),
            element,
            element,
        ),
    ),
    (2, command(b"LREM", list_key, index, element)),
    (2, command(b"LTRIM", list_key, index, index)),
    (3, command(b"LPOS", list_key, element, _search_options)),
    (2, command(b"LMOVE", list_key, list_key, side, side)),
    (1, command(b"RPOPLPUSH", list_key, list_key)),
    (2, command(b"LMPOP", counted_keys(), _pop_options)),
    (2, command(one_of(b"BLPOP", b"BRPOP"), list_keys, timeout)),
    (2, command(b"BLMPOP", timeout, counted_keys(), _pop_options)),
    (1, command(b"BLMOVE", list_key, list_key, side, side, timeout)),
    (1, command(b"BRPOPLPUSH", list_key, list_key, timeout)),
)

# Keys of other types are met, too.
LISTS: list[Draft] = [
    [b"RPUSH", b"list", b"a", b"b", b"c", b"a", b"b"],
    [b"RPUSH", b"list2", b"7", b"-1", b"c"],
    [b"SET", b"text", b"hello"],
]
LISTS_CLOSING: list[list[bytes]] = [
    *([b"LRANGE", key, b"0", b"-1"] for key in (b"list", b"list2")),
    *([b"OBJECT", b"ENCODING", key] for key in (b"list", b"list2")),
    *([b"PTTL", key] for key in (b"list", b"list2")),
]
