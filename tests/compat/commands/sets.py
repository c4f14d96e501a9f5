"""Commands on sets and sorted sets, for the comparison with a real Redis."""

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

set_key = mostly(one_of(b"set", b"set", b"set2"), one_of(b"zset", b"s", b"text", b"missing", b""))
zset_key = mostly(one_of(b"zset", b"zset", b"zset2"), one_of(b"set", b"s", b"text", b"missing"))
# Ranges of members are only of use where all scores are equal: here they always are.
level_key = one_of(b"level", b"level", b"level2", b"missing")
either_key = one_of(b"set", b"set2", b"zset", b"zset2", b"zset", b"zset2", b"missing")

integer_member = st.integers(-3, 12).map(lambda number: b"%d" % number)
member = mostly(
    st.one_of(one_of(b"a", b"b", b"c", b"d", b"e"), integer_member),
    one_of(b"", b"\x00\r\n\xff", b"01", b"m" * 64, b"m" * 65, b"70000", b"-9223372036854775808"),
)
members: Drafts = st.one_of(
    st.lists(integer_member, min_size=1, max_size=4),
    st.lists(member, min_size=1, max_size=5),
)
score = mostly(
    one_of(b"0", b"1", b"1", b"2", b"3", b"-1", b"1.5", b"0.1", b"2.75", b"10"),
    one_of(
        b"inf", b"-inf", b"+Infinity", b"nan", b"x", b"", b" 1", b"1 ", b"1e3", b"1e17", b"1e22",
        b"-0", b"0x10", b"0x1p-2", b"3.5e-7", b"1e400", b"1e-400", b"5e-324", b"1_0", b".5", b"5.",
        b"123456789.123456789", b"9007199254740993", b"1e", b"(1",
    ),
)  # fmt: skip
pairs: Drafts = st.lists(st.tuples(score, member), min_size=1, max_size=4).map(
    lambda pairs: [part for pair in pairs for part in pair]
)
level_pairs: Drafts = st.lists(member, min_size=1, max_size=5).map(
    lambda names: [part for name in names for part in (b"0", name)]
)
rank = mostly(st.integers(-6, 6).map(lambda number: b"%d" % number), arg.odd_number)
score_bound = mostly(
    one_of(b"-inf", b"+inf", b"0", b"1", b"(1", b"2", b"(2", b"1.5", b"-1"),
    one_of(b"(inf", b"(", b"", b" 1", b"1 ", b"x", b"nan", b"(-inf", b"1e400", b"((1", b"1\x002"),
)
lex_bound = mostly(
    one_of(b"-", b"+", b"[a", b"(a", b"[b", b"(c", b"[c", b"(e", b"[1"),
    one_of(b"[", b"(", b"", b"a", b"++", b"-+", b"[m", b"\x00"),
)
limit = command(b"LIMIT", rank, rank)
with_scores = command(b"WITHSCORES")
random_count = mostly(
    one_of(b"0", b"100", b"1000"),
    one_of(b"x", b"", b"-9223372036854775808", b"9223372036854775808"),
)
pop_timeout = mostly(one_of(b"0.001", b"0.002", b"1e-3"), one_of(b"x", b"-1", b"", b"nan"))
match = command(b"MATCH", one_of(b"*", b"?", b"[a-c]", b"m*", b"", b"1*"))
scan_options = command(b"COUNT", one_of(b"1000", b"1000", b"1000", b"0", b"x"), some_of(match))


def _counted(keys: Drafts) -> Drafts:
    """`numkeys key ...`, rarely with another number."""
    right = keys.map(lambda names: [b"%d" % len(names), *names])
    wrong = st.tuples(arg.count, keys).map(lambda drawn: [drawn[0], *drawn[1]])
    return mostly(right, wrong)


set_keys: Drafts = st.lists(set_key, min_size=1, max_size=3)
counted_sets = _counted(set_keys)
counted_zsets = _counted(st.lists(either_key, min_size=1, max_size=3))
weights: Drafts = command(b"WEIGHTS", st.lists(score, min_size=1, max_size=3))
aggregate = command(b"AGGREGATE", one_of(b"SUM", b"MIN", b"MAX", b"max", b"AVG"))

set_command: Drafts = weighted(
    (8, command(b"SADD", set_key, members)),
    (3, command(b"SREM", set_key, members)),
    (2, command(b"SMOVE", set_key, set_key, member)),
    (1, command(b"SISMEMBER", set_key, member)),
    (1, command(b"SMISMEMBER", set_key, members)),
    (1, command(b"SCARD", set_key)),
    (2, command(b"SMEMBERS", set_key)),
    (1, command(b"SPOP", set_key)),
    (1, command(b"SPOP", set_key, random_count)),
    (1, command(b"SRANDMEMBER", set_key)),
    (1, command(b"SRANDMEMBER", set_key, st.one_of(random_count, rank))),
    (2, command(one_of(b"SINTER", b"SUNION", b"SDIFF"), set_keys)),
    (3, command(one_of(b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE"), set_key, set_keys)),
    (2, command(b"SINTERCARD", counted_sets, sometimes(b"LIMIT", arg.count))),
    (2, command(b"SSCAN", set_key, one_of(b"0", b"0", b"x"), scan_options)),
)

_by_rank: Drafts = command(rank, rank)
_by_score: Drafts = command(score_bound, score_bound)
_by_lex: Drafts = command(lex_bound, lex_bound)
_range: Drafts = weighted(
    (3, command(_by_rank, some_of(command(b"REV")))),
    (3, command(_by_score, b"BYSCORE", some_of(command(b"REV"), limit))),
    (1, command(_by_rank, some_of(command(b"REV"), limit, with_scores))),
)
_level_range: Drafts = command(_by_lex, b"BYLEX", some_of(command(b"REV"), limit, with_scores))

sorted_set_command: Drafts = weighted(
    (6, command(b"ZADD", zset_key, pairs)),
    (4, command(b"ZADD", level_key, level_pairs)),
    (1, command(b"ZREM", level_key, members)),
    (3, command(b"ZRANGE", level_key, _level_range)),
    (1, command(b"ZRANGESTORE", level_key, level_key, _level_range)),
    (
        5,
        command(
            b"ZADD",
            zset_key,
            some_of(*(command(word) for word in (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"))),
            pairs,
        ),
    ),
    (2, command(b"ZADD", zset_key, b"INCR", score, member)),
    (2, command(b"ZINCRBY", zset_key, score, member)),
    (3, command(b"ZREM", zset_key, members)),
    (1, command(b"ZSCORE", zset_key, member)),
    (1, command(b"ZMSCORE", zset_key, members)),
    (1, command(b"ZCARD", zset_key)),
    (1, command(b"ZCOUNT", zset_key, _by_score)),
    (1, command(b"ZLEXCOUNT", level_key, _by_lex)),
    (2, command(one_of(b"ZRANK", b"ZREVRANK"), zset_key, member)),
    (5, command(b"ZRANGE", zset_key, _range, sometimes(with_scores))),
    (3, command(b"ZRANGESTORE", zset_key, zset_key, _range)),
    (1, command(b"ZREVRANGE", zset_key, _by_rank, sometimes(with_scores))),
    (
        2,
        command(
            one_of(b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE"),
            zset_key,
            _by_score,
            some_of(with_scores, limit),
        ),
    ),
    (2, command(one_of(b"ZRANGEBYLEX", b"ZREVRANGEBYLEX"), level_key, _by_lex, some_of(limit))),
    (1, command(b"ZREMRANGEBYRANK", zset_key, _by_rank)),
    (1, command(b"ZREMRANGEBYSCORE", zset_key, _by_score)),
    (1, command(b"ZREMRANGEBYLEX", level_key, _by_lex)),
    (1, command(b"ZRANDMEMBER", zset_key)),
    (
        1,
        command(b"ZRANDMEMBER", zset_key, st.one_of(random_count, rank), sometimes(with_scores)),
    ),
    (
        2,
        command(
            one_of(b"ZUNION", b"ZINTER"), counted_zsets, some_of(weights, aggregate, with_scores)
        ),
    ),
    (
        3,
        command(
            one_of(b"ZUNIONSTORE", b"ZINTERSTORE"),
            zset_key,
            counted_zsets,
            some_of(weights, aggregate),
        ),
    ),
    (1, command(b"ZDIFF", counted_zsets, some_of(with_scores, aggregate))),
    (1, command(b"ZDIFFSTORE", zset_key, counted_zsets, some_of(with_scores))),
    (1, command(b"ZINTERCARD", counted_zsets, sometimes(b"LIMIT", arg.count))),
    (2, command(one_of(b"ZPOPMIN", b"ZPOPMAX"), zset_key, sometimes(arg.count))),
    (
        2,
        command(
            b"ZMPOP",
            counted_zsets,
            one_of(b"MIN", b"MAX", b"max", b"LEFT"),
            sometimes(b"COUNT", arg.count),
        ),
    ),
    (
        1,
        command(
            one_of(b"BZPOPMIN", b"BZPOPMAX"),
            st.lists(either_key, min_size=1, max_size=3),
            pop_timeout,
        ),
    ),
    (
        1,
        command(
            b"BZMPOP",
            pop_timeout,
            counted_zsets,
            one_of(b"MIN", b"MAX"),
            sometimes(b"COUNT", arg.count),
        ),
    ),
    (1, command(b"ZSCAN", zset_key, one_of(b"0", b"0", b"x"), scan_options)),
)

_degrees = mostly(
    one_of(b"13.361389", b"15.087269", b"38.115556", b"0", b"-0.5", b"12.7584489", b"85.05"),
    one_of(b"x", b"180", b"-180", b"180.1", b"85.06", b"", b"-85.05112878", b"nan"),
)
_place: Drafts = command(_degrees, _degrees)
_unit = mostly(one_of(b"m", b"km", b"ft", b"MI"), one_of(b"x", b""))
_length = mostly(
    one_of(b"0", b"100", b"200", b"3000", b"200000.5", b"20000000"), one_of(b"x", b"-1", b"inf")
)
_geo_count: Drafts = command(b"COUNT", arg.count, sometimes(b"ANY"))
_geo_options = some_of(
    _geo_count, *(command(word) for word in (b"WITHCOORD", b"WITHDIST", b"WITHHASH", b"ASC"))
)
_store_options = some_of(_geo_count, command(b"DESC"), command(b"STOREDIST"))
_radius_options = some_of(
    _geo_count,
    command(one_of(b"STORE", b"STOREDIST"), zset_key),
    command(b"WITHDIST"),
    command(b"DESC"),
)
_center: Drafts = st.one_of(command(b"FROMMEMBER", member), command(b"FROMLONLAT", _place))
_shape: Drafts = st.one_of(
    command(b"BYRADIUS", _length, _unit), command(b"BYBOX", _length, _length, _unit)
)

geo_command: Drafts = weighted(
    (
        5,
        command(
            b"GEOADD",
            zset_key,
            some_of(command(b"NX"), command(b"XX"), command(b"CH")),
            st.lists(st.tuples(_place, member), min_size=1, max_size=4).map(
                lambda places: [word for place, name in places for word in (*place, name)]
            ),
        ),
    ),
    (1, command(b"GEOPOS", zset_key, members)),
    (1, command(b"GEOHASH", zset_key, members)),
    (1, command(b"GEODIST", zset_key, member, member, sometimes(_unit))),
    (3, command(b"GEOSEARCH", zset_key, _center, _shape, _geo_options)),
    (1, command(b"GEOSEARCHSTORE", zset_key, zset_key, _center, _shape, _store_options)),
    (1, command(b"GEORADIUS", zset_key, _place, _length, _unit, _radius_options)),
    (1, command(b"GEORADIUS_RO", zset_key, _place, _length, _unit, _geo_options)),
    (1, command(b"GEORADIUSBYMEMBER", zset_key, member, _length, _unit, _radius_options)),
    (1, command(b"GEORADIUSBYMEMBER_RO", zset_key, member, _length, _unit, _geo_options)),
)

SETS: list[Draft] = [
    [b"SADD", b"set", b"1", b"2", b"3", b"10"],
    [b"SADD", b"set2", b"a", b"b", b"1", b"3"],
    [b"ZADD", b"zset", b"1", b"a", b"2", b"b", b"2", b"c", b"3.5", b"1"],
    [b"ZADD", b"zset2", b"0", b"a", b"0", b"b", b"0", b"c", b"0", b"d"],
    [b"ZADD", b"level", b"0", b"a", b"0", b"b", b"0", b"c", b"0", b"d"],
]
