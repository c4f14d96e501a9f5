"""Scenarios of clients that wait for lists, alone and beside those that wait for streams."""

from __future__ import annotations

POPPERS = {
    "an element goes to the first who waits": """
        a: BLPOP list 0
        b: BRPOP list 0
        c: RPUSH list 1 2 3
        d: LRANGE list 0 -1
        c: RPUSH list 4
    """,
    "LPUSH of several elements serves with the last": """
        a: BLPOP list 0
        c: LPUSH list 1 2 3
        d: LRANGE list 0 -1
    """,
    "as many are served as there are elements": """
        a: BLPOP list 0
        b: BLPOP other list 0
        d: BLPOP list 0
        c: RPUSH list 1 2
        c: RPUSH list 3
        a: BLPOP list 0
        b: CLIENT UNBLOCK {a}
    """,
    "the first key that has something": """
        a: BLPOP list list2 list3 0
        c: MULTI
        c: RPUSH list3 3
        c: RPUSH list2 2
        c: EXEC
        c: DEL list2 list3
        b: BRPOP list list2 list3 0
        c: RPUSH list2 1
    """,
    "the same key twice": """
        a: BLPOP list list 0
        c: RPUSH list 1 2
        a: BLPOP list list 0
    """,
    "several elements": """
        a: BLMPOP 0 2 list list2 LEFT COUNT 2
        c: RPUSH list2 1 2 3
        a: BLMPOP 0 2 list list2 RIGHT COUNT 9
        a: BLMPOP 0 1 list LEFT
        c: RPUSH list 1 2 3
        d: LRANGE list 0 -1
    """,
    "push and pop in a transaction serve no client": """
        a: BLPOP list 0
        c: MULTI
        c: RPUSH list 1
        c: LPOP list
        c: EXEC
        c: MULTI
        c: RPUSH list 1
        c: DEL list
        c: SET list text
        c: EXEC
        c: DEL list
        c: RPUSH list 2
    """,
    "what is left after the transaction": """
        a: BLPOP list 0
        c: MULTI
        c: RPUSH list 1 2
        c: LPOP list
        c: RPUSH list 3
        c: EXEC
        d: LRANGE list 0 -1
    """,
    "no waiting inside a transaction": """
        a: MULTI
        a: BLPOP list 0
        a: BRPOP list 0
        a: BLMPOP 0 1 list LEFT
        a: BLMOVE list list2 LEFT LEFT 0
        a: BRPOPLPUSH list list2 0
        a: RPUSH list 1 2 3 4 5
        a: BLPOP list 0
        a: BRPOP list 0
        a: BLMPOP 0 1 list LEFT
        a: BLMOVE list list2 LEFT LEFT 0
        a: BRPOPLPUSH list list2 0
        a: EXEC
    """,
    "a timeout": """
        a: BLPOP list 0.05
        await a
        a: BLMPOP 0.05 1 list LEFT
        await a
        a: BLMOVE list list2 LEFT LEFT 0.05
        await a
        a: BRPOPLPUSH list list2 0.05
        await a
        c: RPUSH list 1
        d: LLEN list
    """,
    "somebody else ends the wait": """
        a: BLPOP list 0
        c: CLIENT UNBLOCK {a}
        a: BLMOVE list list2 LEFT LEFT 0
        c: CLIENT UNBLOCK {a} ERROR
        a: BRPOPLPUSH list list2 0
        c: CLIENT UNBLOCK {a} TIMEOUT
        c: RPUSH list 1
        d: LLEN list
    """,
    "a waiter that hangs up leaves the queue": """
        a: BLPOP list 0
        b: BLPOP list 0
        close a
        c: RPUSH list 1
        c: RPUSH list 2
        d: LRANGE list 0 -1
    """,
    "lists that come from elsewhere": """
        a: BLPOP list 0
        c: RPUSH list2 1 2
        c: RENAME list2 list
        a: BLPOP list3 0
        c: COPY list list3
        d: LRANGE list3 0 -1
        b: BLPOP list4 0
        c: MULTI
        c: RENAME list list4
        c: RPUSH list4 3
        c: EXEC
        d: LRANGE list4 0 -1
    """,
    "the key of another type": """
        c: SET list text
        a: BLPOP list 0
        a: BLPOP list2 list 0
        a: BLPOP list2 0
        c: SET list2 text
        c: DEL list2
        c: XADD list2 1-1 f v
        c: RENAME list2 list3
        c: LPUSH list2 1
    """,
}

MOVERS = {
    "an element moves on to the next who waits": """
        a: BLMOVE list list2 LEFT RIGHT 0
        b: BLPOP list2 0
        c: RPUSH list 1 2
        d: LRANGE list 0 -1
        d: LRANGE list2 0 -1
    """,
    "a chain of movers": """
        d: BLPOP list4 0
        b: BLMOVE list3 list4 LEFT LEFT 0
        a: BRPOPLPUSH list2 list3 0
        e: BLMOVE list list2 LEFT LEFT 0
        c: LPUSH list 1
        c: EXISTS list list2 list3 list4
    """,
    "a circle": """
        a: BRPOPLPUSH list list2 0
        b: BRPOPLPUSH list2 list 0
        c: RPUSH list 1
        d: LRANGE list 0 -1
        d: LRANGE list2 0 -1
    """,
    "a list turns round": """
        a: BLMOVE list list LEFT RIGHT 0
        c: RPUSH list 1 2 3
        d: LRANGE list 0 -1
    """,
    "the target is no list": """
        c: SET text hello
        a: BLMOVE list text LEFT LEFT 0
        b: BLPOP list 0
        c: RPUSH list 1
        d: LRANGE list 0 -1
    """,
    "the target becomes another type while the client waits": """
        a: BRPOPLPUSH list list2 0
        c: SET list2 text
        c: RPUSH list 1
        d: LRANGE list 0 -1
        d: GET list2
    """,
}

MIXED = {
    "a list, a stream and a group wait at one key": """
        a: BLPOP s 0
        b: XREAD BLOCK 0 STREAMS s $
        c: XADD s 1-1 f 1
        c: DEL s
        b: XREAD BLOCK 0 STREAMS s $
        c: RPUSH s 1
        c: EXISTS s
        c: XADD s 1-1 f 1
    """,
    "a stream that turns into a list": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: BLPOP other s2 0
        d: XREAD BLOCK 0 STREAMS s2 $
        c: MULTI
        c: XADD s2 1-1 f 1
        c: DEL s2
        c: RPUSH s2 1
        c: EXEC
        c: XADD s 1-1 f 1
        c: XADD s2 1-1 f 1
    """,
    "both kinds in one transaction": """
        a: BLPOP list 0
        b: XREAD BLOCK 0 STREAMS s $
        d: BLPOP list 0
        c: MULTI
        c: XADD s 1-1 f 1
        c: RPUSH list 1 2 3
        c: EXEC
        c: LRANGE list 0 -1
    """,
    "a swapped database": """
        a: SELECT 1
        a: BLPOP list 0
        b: BLPOP list 0
        c: RPUSH list2 1
        c: SELECT 1
        c: RPUSH list3 x
        c: RENAME list3 list
        c: SELECT 0
        c: RPUSH list y z
    """,
}

LIST_SCENARIOS = POPPERS | MOVERS | MIXED
