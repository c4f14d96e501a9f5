"""Commands on HyperLogLogs, for the comparison with a real Redis: their bytes are compared."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.compat.commands.strategies import Draft, Drafts, command, mostly, one_of, weighted

hyperloglog_key = mostly(
    one_of(b"hll", b"hll", b"hll2", b"hll3"), one_of(b"text", b"list", b"missing", b"")
)
hyperloglog_keys: Drafts = st.lists(hyperloglog_key, max_size=3)
_few: Drafts = st.lists(st.integers(0, 60).map(lambda number: b"element %d" % number), max_size=6)
_many: Drafts = st.tuples(st.integers(0, 9), st.integers(20, 150)).map(
    lambda drawn: [b"%d:%d" % (drawn[0], number) for number in range(drawn[1])]
)
_long: Drafts = st.lists(st.binary(max_size=40), max_size=4)
elements = st.one_of(_few, _few, _long, _many)

hyperloglog_command: Drafts = weighted(
    (6, command(b"PFADD", hyperloglog_key, elements)),
    (3, command(b"PFCOUNT", hyperloglog_key)),
    (2, command(b"PFCOUNT", hyperloglog_key, hyperloglog_keys)),
    (3, command(b"PFMERGE", hyperloglog_key, hyperloglog_keys)),
    (3, command(b"GET", hyperloglog_key)),
    # The header only: of damaged registers (edges.py) Redis 7.0 reads bytes after the string.
    (1, command(b"SETRANGE", hyperloglog_key, one_of(b"4", b"8", b"15"), st.binary(max_size=1))),
    (1, command(b"CONFIG", b"SET", b"hll-sparse-max-bytes", one_of(b"100", b"3000"))),
)

HYPERLOGLOGS: list[Draft] = [
    [b"CONFIG", b"SET", b"hll-sparse-max-bytes", b"3000"],
    [b"PFADD", b"hll", b"a", b"b", b"c"],
    [b"PFADD", b"hll2", *[b"%d" % number for number in range(300)]],
    [b"SET", b"text", b"hello"],
    [b"RPUSH", b"list", b"a"],
]
HYPERLOGLOGS_CLOSING: list[list[bytes]] = [
    *([b"GET", key] for key in (b"hll", b"hll2", b"hll3")),
    [b"PFCOUNT", b"hll", b"hll2", b"hll3"],
]
