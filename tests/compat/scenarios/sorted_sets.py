"""Scenarios of clients that wait for sorted sets; their notation is in `player.py`."""

from __future__ import annotations

SORTED_SETS = {
    "a member is popped by the first that waits": """
        a: BZPOPMIN z 0
        b: BZPOPMAX z 0
        c: ZADD z 1 x 2 y 3 w
        c: ZRANGE z 0 -1
        d: BZPOPMIN z 0
        c: EXISTS z
    """,
    "several members are popped at once": """
        a: BZMPOP 0 2 y z MAX COUNT 2
        c: ZADD z 1 x 2 y 3 w
        a: BZMPOP 0 2 y z MIN COUNT 5
        b: BZMPOP 0 1 y MIN
        c: ZADD y 1.5 x
    """,
    "a sorted set that was waited for by several keys": """
        a: BZPOPMIN y z 0
        b: BZPOPMIN z y 0
        c: MULTI
        c: ZADD z 1 one
        c: ZADD y 2 two
        c: EXEC
    """,
    "what a transaction adds and removes is not there": """
        a: BZPOPMIN z 0
        c: MULTI
        c: ZADD z 1 x
        c: ZREM z x
        c: EXEC
        c: ZADD z 2 y
    """,
    "ZINCRBY makes a sorted set": """
        a: BZPOPMIN z 0
        c: ZINCRBY z 5 x
    """,
    "a stored result is waited for": """
        a: BZPOPMIN z 0
        b: BZPOPMIN r 0
        c: ZADD s 1 x 2 y
        c: ZUNIONSTORE z 1 s
        c: ZRANGESTORE r s 0 -1
    """,
    "a value of another type wakes no client": """
        a: BZPOPMIN z 0
        c: SADD z x
        c: DEL z
        c: SET z x
        c: DEL z
        c: ZADD z 1 x
    """,
    "a key of another type is refused at once": """
        c: SET text x
        a: BZPOPMIN text z 0
        a: BZPOPMIN z text 0
        a: BZMPOP 0 2 z text MIN
    """,
    "a key that becomes a sorted set by RENAME, MOVE and RESTORE": """
        a: BZPOPMIN z 0
        c: ZADD y 1 x
        c: RENAME y z
        a: BZPOPMIN z 0
        c: SELECT 1
        c: ZADD z 2 w
        c: MOVE z 0
    """,
    "no command waits in a transaction": """
        a: MULTI
        a: BZPOPMIN z 0
        a: BZPOPMAX z 0
        a: BZMPOP 0 1 z MIN
        a: EXEC
    """,
    "a wait for a sorted set ends": """
        a: BZPOPMIN z 0.05
        await a
        b: BZMPOP 0.05 2 y z MAX
        await b
    """,
    "waiters for a sorted set are unblocked": """
        a: BZPOPMIN z 0
        c: CLIENT UNBLOCK {a}
        a: BZMPOP 0 1 z MIN
        c: CLIENT UNBLOCK {a} ERROR
        a: BZPOPMAX z 0
        c: CLIENT UNBLOCK {a} TIMEOUT
        c: ZADD z 1 x
    """,
    "who is served may be asked again": """
        a: BZPOPMIN z 0
        b: BZPOPMIN z 0
        d: BZPOPMIN z 0
        c: ZADD z 1 x
        c: ZADD z 2 y
        a: BZPOPMIN z 0
        c: ZADD z 3 x 4 y
    """,
}
