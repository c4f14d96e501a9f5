"""Documentation of the commands of sorted sets (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "sorted-set"
SINCE = "1.2.0"

_LOG_OF_SIZE = "O(log N) with N the size of the sorted set."
_PER_POPPED = "O(log N * M) with N the size of the sorted set and M the number popped."
_PER_REMOVED = "O(log N + M) with N the size of the sorted set and M the number of members removed."
_PER_RETURNED = (
    "O(log N + M) with N the size of the sorted set and M the number of members returned."
)
_SMALLEST_SIZE = "O(N*K)+O(M*log M) with N the size of the smallest of K keys, M of the result."
_SUM_OF_SIZES = "O(N)+O(M*log M) with N the sum of the sizes and M the size of the result."
_WEIGHTS = "[WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]"

ROWS = {
    "BZMPOP": Row(
        "Pops members from the first of several sorted sets; waits until one exists.",
        "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
        complexity=_PER_POPPED,
        since="7.0.0",
    ),
    "BZPOPMAX": Row(
        "Pops the member with the highest score; waits until there is one.",
        "key [key ...] timeout",
        complexity=_LOG_OF_SIZE,
        since="5.0.0",
        history=[("6.0.0", "`timeout` may have a fraction.")],
    ),
    "BZPOPMIN": Row(
        "Pops the member with the lowest score; waits until there is one.",
        "key [key ...] timeout",
        complexity=_LOG_OF_SIZE,
        since="5.0.0",
        history=[("6.0.0", "`timeout` may have a fraction.")],
    ),
    "ZADD": Row(
        "Adds members with scores to a sorted set, or changes the scores of those it has.",
        "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
        complexity="O(log N) for each member, with N the size of the sorted set.",
        history=[
            ("2.4.0", "Accepts several members."),
            ("3.0.2", "Added the options `XX`, `NX`, `CH` and `INCR`."),
            ("6.2.0", "Added the options `GT` and `LT`."),
        ],
    ),
    "ZCARD": Row("Counts the members of a sorted set.", "key"),
    "ZCOUNT": Row(
        "Counts the members with scores within a range.",
        "key min max",
        complexity=_LOG_OF_SIZE,
        since="2.0.0",
    ),
    "ZDIFF": Row(
        "Returns the members of a sorted set that none of several others has.",
        "numkeys key [key ...] [WITHSCORES]",
        complexity=_SUM_OF_SIZES,
        since="6.2.0",
    ),
    "ZDIFFSTORE": Row(
        "Stores the members of a sorted set that none of several others has.",
        "destination numkeys key [key ...]",
        complexity=_SUM_OF_SIZES,
        since="6.2.0",
    ),
    "ZINCRBY": Row(
        "Adds a number to the score of a member, which is added if it is not there.",
        "key increment member",
        complexity=_LOG_OF_SIZE,
    ),
    "ZINTER": Row(
        "Returns the members that all of several sorted sets have.",
        f"numkeys key [key ...] {_WEIGHTS} [WITHSCORES]",
        complexity=_SMALLEST_SIZE,
        since="6.2.0",
        history=[("8.8.0", "Added `AGGREGATE COUNT`.")],
    ),
    "ZINTERCARD": Row(
        "Counts the members that all of several sorted sets have.",
        "numkeys key [key ...] [LIMIT limit]",
        complexity="O(N*K) with N the size of the smallest of K keys.",
        since="7.0.0",
    ),
    "ZINTERSTORE": Row(
        "Stores the members that all of several sorted sets have.",
        f"destination numkeys key [key ...] {_WEIGHTS}",
        complexity=_SMALLEST_SIZE,
        since="2.0.0",
        history=[("8.8.0", "Added `AGGREGATE COUNT`.")],
    ),
    "ZLEXCOUNT": Row(
        "Counts the members within a range of members, where all have the same score.",
        "key min max",
        complexity=_LOG_OF_SIZE,
        since="2.8.9",
    ),
    "ZMPOP": Row(
        "Pops members from the first of several sorted sets that exists.",
        "numkeys key [key ...] <MIN | MAX> [COUNT count]",
        complexity=_PER_POPPED,
        since="7.0.0",
    ),
    "ZMSCORE": Row(
        "Returns the scores of several members.",
        "key member [member ...]",
        complexity="O(N) with N the number of members given.",
        since="6.2.0",
    ),
    "ZPOPMAX": Row(
        "Removes the members with the highest scores and returns them.",
        "key [count]",
        complexity=_PER_POPPED,
        since="5.0.0",
    ),
    "ZPOPMIN": Row(
        "Removes the members with the lowest scores and returns them.",
        "key [count]",
        complexity=_PER_POPPED,
        since="5.0.0",
    ),
    "ZRANDMEMBER": Row(
        "Returns members chosen at random.",
        "key [count [WITHSCORES]]",
        complexity="O(N) with N the number of members returned.",
        since="6.2.0",
        tips=["nondeterministic_output"],
    ),
    "ZRANGE": Row(
        "Returns the members within a range of ranks, scores or members.",
        "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        complexity=_PER_RETURNED,
        history=[("6.2.0", "Added the options `REV`, `BYSCORE`, `BYLEX` and `LIMIT`.")],
    ),
    "ZRANGEBYLEX": Row(
        "Returns the members within a range of members, where all have the same score.",
        "key min max [LIMIT offset count]",
        complexity=_PER_RETURNED,
        since="2.8.9",
        deprecated=("6.2.0", "`ZRANGE` with the `BYLEX` argument"),
    ),
    "ZRANGEBYSCORE": Row(
        "Returns the members within a range of scores.",
        "key min max [WITHSCORES] [LIMIT offset count]",
        complexity=_PER_RETURNED,
        since="1.0.5",
        history=[("2.0.0", "Added the option `WITHSCORES`.")],
        deprecated=("6.2.0", "`ZRANGE` with the `BYSCORE` argument"),
    ),
    "ZRANGESTORE": Row(
        "Stores the members within a range at another key.",
        "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
        complexity=_PER_RETURNED,
        since="6.2.0",
    ),
    "ZRANK": Row(
        "Returns how many members have a lower score than a member.",
        "key member [WITHSCORE]",
        complexity=_LOG_OF_SIZE,
        since="2.0.0",
        history=[("7.2.0", "Added the option `WITHSCORE`.")],
    ),
    "ZREM": Row(
        "Removes members from a sorted set; the key goes with the last of them.",
        "key member [member ...]",
        complexity=(
            "O(M*log N) with N the size of the sorted set and M the number of members given."
        ),
        history=[("2.4.0", "Accepts several members.")],
    ),
    "ZREMRANGEBYLEX": Row(
        "Removes the members within a range of members, where all have the same score.",
        "key min max",
        complexity=_PER_REMOVED,
        since="2.8.9",
    ),
    "ZREMRANGEBYRANK": Row(
        "Removes the members within a range of ranks.",
        "key start stop",
        complexity=_PER_REMOVED,
        since="2.0.0",
    ),
    "ZREMRANGEBYSCORE": Row(
        "Removes the members with scores within a range.",
        "key min max",
        complexity=_PER_REMOVED,
    ),
    "ZREVRANGE": Row(
        "Returns the members within a range of ranks, from the highest score down.",
        "key start stop [WITHSCORES]",
        complexity=_PER_RETURNED,
        deprecated=("6.2.0", "`ZRANGE` with the `REV` argument"),
    ),
    "ZREVRANGEBYLEX": Row(
        "Returns the members within a range of members, from the greatest down.",
        "key max min [LIMIT offset count]",
        complexity=_PER_RETURNED,
        since="2.8.9",
        deprecated=("6.2.0", "`ZRANGE` with the `REV` and `BYLEX` arguments"),
    ),
    "ZREVRANGEBYSCORE": Row(
        "Returns the members within a range of scores, from the highest down.",
        "key max min [WITHSCORES] [LIMIT offset count]",
        complexity=_PER_RETURNED,
        since="2.2.0",
        history=[("2.1.6", "`min` and `max` may be exclusive.")],
        deprecated=("6.2.0", "`ZRANGE` with the `REV` and `BYSCORE` arguments"),
    ),
    "ZREVRANK": Row(
        "Returns how many members have a higher score than a member.",
        "key member [WITHSCORE]",
        complexity=_LOG_OF_SIZE,
        since="2.0.0",
        history=[("7.2.0", "Added the option `WITHSCORE`.")],
    ),
    "ZSCAN": Row(
        "Iterates over the members of a sorted set and their scores, a few with each call.",
        "key cursor [MATCH pattern] [COUNT count]",
        complexity="O(1) for a call, O(N) for the whole walk, with N the number of members.",
        since="2.8.0",
        tips=["nondeterministic_output"],
    ),
    "ZSCORE": Row("Returns the score of a member.", "key member"),
    "ZUNION": Row(
        "Returns the members that any of several sorted sets has.",
        f"numkeys key [key ...] {_WEIGHTS} [WITHSCORES]",
        complexity=_SUM_OF_SIZES,
        since="6.2.0",
        history=[("8.8.0", "Added `AGGREGATE COUNT`.")],
    ),
    "ZUNIONSTORE": Row(
        "Stores the members that any of several sorted sets has.",
        f"destination numkeys key [key ...] {_WEIGHTS}",
        complexity=_SUM_OF_SIZES,
        since="2.0.0",
        history=[("8.8.0", "Added `AGGREGATE COUNT`.")],
    ),
}
