"""Scenarios of blocked clients, by name; their notation is in `player.py`."""

from __future__ import annotations

from tests.compat.scenarios.lists import LIST_SCENARIOS
from tests.compat.scenarios.sorted_sets import SORTED_SETS

READERS = {
    "a reader gets the entry that is added": """
        a: XREAD BLOCK 0 STREAMS s $
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 2
        a: XREAD BLOCK 0 STREAMS s 1-1
    """,
    "every reader gets the entry": """
        a: XREAD BLOCK 0 STREAMS s $
        b: XREAD BLOCK 0 COUNT 1 STREAMS s 0
        d: XREAD COUNT 5 BLOCK 0 STREAMS s 1-0
        c: XADD s 1-1 f 1
    """,
    "a reader of several streams gets the one that has news": """
        a: XREAD BLOCK 0 STREAMS s t u $ $ $
        c: XADD t 1-1 f 1
        c: XADD s 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s t u $ $ $
        c: XADD u 1-1 f 1
    """,
    "all that one transaction added": """
        a: XREAD BLOCK 0 STREAMS s t $ $
        c: MULTI
        c: XADD t 1-1 f 1
        c: XADD s 1-1 f 1
        c: EXEC
    """,
    "the same stream twice": """
        a: XREAD BLOCK 0 STREAMS s s 0 5
        c: XADD s 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s s 5 6-1
        c: XADD s 6-1 f 1
    """,
    "the same stream twice, both with news": """
        a: XREAD BLOCK 0 STREAMS s s 1 2
        c: XADD s 3-1 f 1
    """,
    "$ is the last ID at the time of blocking": """
        c: XADD s 5-1 f 1
        a: XREAD BLOCK 0 STREAMS s $
        c: XDEL s 5-1
        c: XADD s 5-2 f 1
    """,
    "a reader waits for an ID that is still far": """
        a: XREAD BLOCK 0 STREAMS s 5
        c: XADD s 3-1 f 1
        c: XADD s 5-0 f 1
        c: XADD s 5-1 f 1
    """,
    "a transaction's entries come together, up to COUNT": """
        a: XREAD BLOCK 0 STREAMS s $
        b: XREAD BLOCK 0 COUNT 2 STREAMS s $
        d: XREAD BLOCK 0 COUNT 0 STREAMS s $
        c: MULTI
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 2
        c: XADD s 3-1 f 3
        c: EXEC
    """,
    "an entry that is removed by the end of the transaction wakes no client": """
        a: XREAD BLOCK 0 STREAMS s $
        c: MULTI
        c: XADD s 1-1 f 1
        c: DEL s
        c: EXEC
        c: XADD s 1-2 f 1
    """,
    "an entry deleted in its own transaction": """
        a: XREAD BLOCK 0 STREAMS s $
        c: MULTI
        c: XADD s 1-1 f 1
        c: XADD s 1-2 f 1
        c: XDEL s 1-1
        c: EXEC
    """,
    "deleting and adding in one transaction is adding": """
        c: XADD s 5-1 f 1
        a: XREAD BLOCK 0 STREAMS s 5-1
        b: XREAD BLOCK 0 STREAMS s 0-5
        c: MULTI
        c: DEL s
        c: XADD s 2-1 f 1
        c: EXEC
    """,
    "deletion and another type do not wake a reader": """
        c: XADD s 5-1 f 1
        a: XREAD BLOCK 0 STREAMS s $
        c: DEL s
        c: SET s text
        c: DEL s
        c: XADD s 1-1 f 1
        c: XADD s 6-1 f 1
    """,
    "an entry trimmed as it is added": """
        a: XREAD BLOCK 0 STREAMS s $
        c: XADD s MAXLEN 0 1-1 f 1
        c: XADD s 2-1 f 1
    """,
    "a command that adds no entry wakes no client": """
        a: XREAD BLOCK 0 STREAMS s $
        c: XADD s NOMKSTREAM 1-1 f 1
        c: XGROUP CREATE s g 0 MKSTREAM
        c: XSETID s 5-5
        c: XTRIM s MAXLEN 0
        c: XADD s 5-5 f 1
        c: XADD s 5-6 f 1
    """,
    "a key that becomes a stream by RENAME": """
        c: XADD u 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        b: XREAD BLOCK 0 STREAMS s 2
        c: RENAME u s
        c: XADD s 2-1 f 1
    """,
    "a key that becomes a stream by RENAMENX": """
        c: XADD u 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        c: RENAMENX u s
    """,
    "a key that becomes a stream by COPY": """
        c: XADD u 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        c: COPY u s
    """,
    "a key that becomes a stream by COPY into another database": """
        c: XADD u 1-1 f 1
        a: SELECT 3
        a: XREAD BLOCK 0 STREAMS s 0
        c: COPY u s DB 3
    """,
    "a key that becomes a stream by MOVE": """
        c: SELECT 1
        c: XADD s 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        c: MOVE s 0
    """,
    "a key that becomes a stream by SWAPDB": """
        c: SELECT 1
        c: XADD s 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        b: SELECT 1
        b: XREAD BLOCK 0 STREAMS t 0
        c: SWAPDB 0 1
        c: XADD t 1-1 f 1
    """,
    "entries in another database are other entries": """
        a: XREAD BLOCK 0 STREAMS s $
        c: SELECT 1
        c: XADD s 1-1 f 1
        c: SELECT 0
        c: XADD s 2-1 f 1
    """,
    "flushing leaves readers waiting": """
        c: XADD s 5-1 f 1
        a: XREAD BLOCK 0 STREAMS s $
        c: FLUSHALL ASYNC
        c: XADD s 5-1 f 1
        c: FLUSHDB ASYNC
        c: XADD s 5-2 f 1
    """,
    "what is there already is not waited for": """
        c: XADD s 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        a: XREAD BLOCK 0 STREAMS t s $ 0
        a: XREAD STREAMS s $
    """,
    "a wait ends with nothing": """
        a: XREAD BLOCK 30 STREAMS s $
        await a
        a: XREAD BLOCK 20 STREAMS s t $ $
        await a
        c: XADD s 1-1 f 1
        a: XREAD BLOCK 30 STREAMS s 1-1
        await a
    """,
    "commands after a wait are answered after it": """
        a: XREAD BLOCK 0 STREAMS s $
        a: PING
        a: XADD s 3-1 f 1
        a: XREAD BLOCK 0 STREAMS s $
        c: XADD s 1-1 f 1
        c: XADD s 4-1 f 1
    """,
    "nothing is waited for in a transaction": """
        a: MULTI
        a: XREAD BLOCK 0 STREAMS s $
        a: XADD s 1-1 f 1
        a: XREAD BLOCK 0 STREAMS s 0
        a: EXEC
    """,
    "a wrong type is an error before the wait": """
        c: SET s text
        a: XREAD BLOCK 0 STREAMS s $
        a: XREAD BLOCK 0 STREAMS t s $ 0
    """,
    "a reader that hung up": """
        a: XREAD BLOCK 0 STREAMS s $
        b: XREAD BLOCK 0 STREAMS s $
        close a
        c: XADD s 1-1 f 1
        c: XLEN s
    """,
}

UNBLOCKED = {
    "CLIENT UNBLOCK": """
        a: XREAD BLOCK 0 STREAMS s $
        c: CLIENT UNBLOCK {a}
        c: CLIENT UNBLOCK {a}
        a: XREAD BLOCK 0 STREAMS s $
        c: CLIENT UNBLOCK {a} TIMEOUT
        a: XREAD BLOCK 0 STREAMS s $
        c: CLIENT UNBLOCK {a} ERROR
        a: XREAD BLOCK 0 STREAMS s $
        c: CLIENT UNBLOCK {a} error
        a: XREAD BLOCK 0 STREAMS s $
        c: CLIENT UNBLOCK {a} LATER
        c: CLIENT UNBLOCK 0
        c: CLIENT UNBLOCK x
        c: CLIENT UNBLOCK {a} ERROR TIMEOUT
        c: CLIENT UNBLOCK {c}
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
    """,
    "CLIENT UNBLOCK in a group": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        c: CLIENT UNBLOCK {a} ERROR
        c: XADD s 1-1 f 1
        c: XPENDING s g
    """,
    "CLIENT UNBLOCK in a transaction": """
        a: XREAD BLOCK 0 STREAMS s $
        c: MULTI
        c: XADD s 1-1 f 1
        c: CLIENT UNBLOCK {a}
        c: EXEC
    """,
    "commands after a wait that is cut short": """
        a: XREAD BLOCK 0 STREAMS s $
        a: PING
        c: CLIENT UNBLOCK {a} ERROR
    """,
}

GROUPS = {
    "first blocked, first served": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        d: XREADGROUP GROUP g dora BLOCK 0 STREAMS s >
        c: XADD s 1-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XADD s 2-1 f 1
        c: XADD s 3-1 f 1
        c: XADD s 4-1 f 1
        c: XADD s 5-1 f 1
        c: XPENDING s g - + 10
    """,
    "one consumer waiting twice": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
    """,
    "each group gets its own copy": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE s h $
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP h bob BLOCK 0 STREAMS s >
        d: XREADGROUP GROUP g dora BLOCK 0 STREAMS s >
        e: XREAD BLOCK 0 STREAMS s $
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
        c: XINFO GROUPS s
    """,
    "the first takes COUNT, the next the rest": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice COUNT 1 BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob COUNT 2 BLOCK 0 STREAMS s >
        d: XREADGROUP GROUP g dora BLOCK 0 STREAMS s >
        e: XREADGROUP GROUP g eve BLOCK 0 STREAMS s >
        c: MULTI
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
        c: XADD s 3-1 f 1
        c: XADD s 4-1 f 1
        c: XADD s 5-1 f 1
        c: EXEC
        c: XPENDING s g - + 10
        c: XADD s 6-1 f 1
    """,
    "without COUNT the first takes all": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        c: MULTI
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
        c: EXEC
        c: XADD s 3-1 f 1
    """,
    "NOACK leaves nothing pending": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice NOACK BLOCK 0 STREAMS s >
        c: XADD s 1-1 f 1
        c: XPENDING s g
        c: XINFO GROUPS s
    """,
    "what was delivered while blocked is pending": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XADD s 1-1 f 1
        c: XPENDING s g
        a: XREADGROUP GROUP g alice STREAMS s 0
        a: XACK s g 1-1
        c: XINFO GROUPS s
        c: XINFO CONSUMERS s g
    """,
    "history is never waited for": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s 0
        c: XADD s 1-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s 0
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s 1-1
    """,
    "several streams in one group": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE t g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS t s > >
        c: XADD t 1-1 f 1
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >
    """,
    "history of one stream and news of another": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE t g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t 0 >
        c: XADD t 1-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t 0 >
    """,
    "a group reads on where it was set": """
        c: XADD s 1-1 f 1
        c: XADD s 2-1 f 1
        c: XGROUP CREATE s g $
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XGROUP SETID s g 0
        c: XADD s 3-1 f 1
    """,
    "a consumer deleted while it waits comes back": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XGROUP DELCONSUMER s g alice
        c: XADD s 1-1 f 1
        c: XPENDING s g
    """,
    "another consumer was faster": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        c: MULTI
        c: XADD s 1-1 f 1
        c: XREADGROUP GROUP g carol STREAMS s >
        c: EXEC
        c: XADD s 2-1 f 1
        c: XADD s 3-1 f 1
    """,
    "who was passed over goes to the end": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE t g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS t >
        c: MULTI
        c: XADD s 1-1 f 1
        c: XREADGROUP GROUP g carol STREAMS s >
        c: EXEC
        c: XADD t 1-1 f 1
        c: XADD t 2-1 f 1
    """,
    "a waiting consumer that hung up takes nothing": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        close a
        c: XADD s 1-1 f 1
        c: XPENDING s g
        c: XADD s 2-1 f 1
        c: XPENDING s g - + 10
    """,
    "a wait in a group ends with nothing": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 30 STREAMS s >
        await a
        c: XADD s 1-1 f 1
        c: XPENDING s g
    """,
    "nothing is waited for in a transaction with a group": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: MULTI
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        a: XADD s 1-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        a: EXEC
    """,
    "a missing group is an error before the wait": """
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP h alice BLOCK 0 STREAMS s >
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >
        c: SET t text
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >
    """,
    "an entry deleted in its own transaction, for a group": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: MULTI
        c: XADD s 1-1 f 1
        c: XADD s 1-2 f 1
        c: XDEL s 1-1
        c: EXEC
        c: XPENDING s g
    """,
    "an entry trimmed as it is added, for a group": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XADD s MAXLEN 0 1-1 f 1
        c: XADD s 2-1 f 1
    """,
}

VANISHED = {
    "the group is destroyed": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        r: XREAD BLOCK 0 STREAMS s $
        c: XGROUP DESTROY s g
        c: XADD s 1-1 f 1
    """,
    "another group is destroyed": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE s h $
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: XGROUP DESTROY s h
        c: XADD s 1-1 f 1
    """,
    "the group is destroyed and created in one transaction": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: MULTI
        c: XGROUP DESTROY s g
        c: XGROUP CREATE s g $
        c: EXEC
        c: XADD s 1-1 f 1
    """,
    "the stream is deleted": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        r: XREAD BLOCK 0 STREAMS s $
        c: DEL s
        c: XADD s 1-1 f 1
    """,
    "the stream is unlinked": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: UNLINK s
    """,
    "the stream is deleted and created in one transaction": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: MULTI
        c: DEL s
        c: XGROUP CREATE s g $ MKSTREAM
        c: EXEC
        c: XADD s 1-1 f 1
    """,
    "the stream comes back without the group": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: MULTI
        c: DEL s
        c: XADD s 1-1 f 1
        c: EXEC
    """,
    "one of two streams is deleted": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE t g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >
        c: DEL t
        c: XADD s 1-1 f 1
    """,
    "the key is set to text": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: SET s text
    """,
    "the key is set to text by others": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XGROUP CREATE t g $ MKSTREAM
        c: SET u text
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b: XREADGROUP GROUP g bob BLOCK 0 STREAMS t >
        c: MSET s text
        c: RENAME u t
    """,
    "the stream is renamed": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: RENAME s t
        c: XADD t 1-1 f 1
    """,
    "a stream without the group is renamed": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XADD u 1-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: RENAME u s
    """,
    "a stream with the group is renamed": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XADD u 1-1 f 1
        c: XGROUP CREATE u g 0
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: RENAME u s
        c: XPENDING s g
    """,
    "a stream with the group is copied": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XADD u 1-1 f 1
        c: XGROUP CREATE u g 0
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: COPY u s REPLACE
        c: XPENDING s g
        c: XPENDING u g
    """,
    "a stream without the group is copied": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: XADD u 1-1 f 1
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: COPY u s REPLACE
    """,
    "the stream is moved away": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: MOVE s 1
    """,
    "the databases are swapped": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: SWAPDB 0 1
    """,
    "the databases are swapped for one with the group": """
        c: XGROUP CREATE s g $ MKSTREAM
        c: SELECT 1
        c: XADD s 1-1 f 1
        c: XGROUP CREATE s g 0
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: SWAPDB 0 1
    """,
    "everything is flushed": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: FLUSHALL ASYNC
    """,
    "the database is flushed": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: FLUSHDB ASYNC
    """,
    "another database is flushed": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: SELECT 1
        c: FLUSHDB ASYNC
        c: SELECT 0
        c: XADD s 1-1 f 1
    """,
    "the stream expires": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: PEXPIRE s 20
        await a
    """,
    "the stream expires in the past": """
        c: XGROUP CREATE s g $ MKSTREAM
        a: XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        c: EXPIRE s -1
    """,
}

SCENARIOS = {**READERS, **UNBLOCKED, **GROUPS, **VANISHED, **LIST_SCENARIOS, **SORTED_SETS}
