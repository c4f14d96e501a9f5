"""The one table of how Rillway, which answers as Redis 8.10, differs from the Redis 7.0 that it is
compared with.

Each difference says which Redis brought it and why, and turns what Redis 7.0 answered into what
Redis 8.10 would have. What is not named here must be the same, byte for byte. Each is shown by a
few commands with both answers, which are run on both servers: an entry that is no longer true
fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.compat import difference_rules as rules
from tests.compat.comparison import (
    Exchange,
    Expected,
    History,
)

Rule: TypeAlias = Callable[[History, Exchange, Expected], Expected]


@dataclass(frozen=True)
class Shown:
    """Commands that show a difference, as typed into redis-cli, and what the last one prints.

    `<ms>` stands for any number.
    """

    commands: tuple[str, ...]
    redis: str
    rillway: str


@dataclass(frozen=True)
class Difference:
    """`since` is the Redis whose behaviour Rillway has. `rule` is None where the sequences are
    drawn so that the difference cannot show."""

    name: str
    since: str
    reason: str
    shown: Shown
    rule: Rule | None = None


XINFO_HELP = """\
1) XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
2) CONSUMERS <key> <groupname>
3)     Show consumers of <groupname>.
4) GROUPS <key>
5)     Show the stream consumer groups.
6) STREAM <key> [FULL [COUNT <count>]
7)     Show information about the stream.
8) HELP
9)     {} this help."""
STREAM_WITH_AN_ENTRY = """\
 1) "length"
 2) (integer) 1
 3) "radix-tree-keys"
 4) (integer) 1
 5) "radix-tree-nodes"
 6) (integer) 2
 7) "last-generated-id"
 8) "1-1"
 9) "max-deleted-entry-id"
10) "0-0"
11) "entries-added"
12) (integer) 1
13) "recorded-first-entry-id"
14) "1-1\""""
STREAM_WITH_CONSUMER = f"""\
{STREAM_WITH_AN_ENTRY}
15) "entries"
16) 1) 1) "1-1"
       2) 1) "f"
          2) "1"
17) "groups"
18) 1)  1) "name"
        2) "g"
        3) "last-delivered-id"
        4) "0-0"
        5) "entries-read"
        6) (nil)
        7) "lag"
        8) (integer) 1
        9) "pel-count"
       10) (integer) 0
       11) "pending"
       12) (empty array)
       13) "consumers\""""
NEWER_STREAM_WITH_CONSUMER = f"""\
{STREAM_WITH_AN_ENTRY}
15) "idmp-duration"
16) (integer) 100
17) "idmp-maxsize"
18) (integer) 100
19) "pids-tracked"
20) (integer) 0
21) "iids-tracked"
22) (integer) 0
23) "iids-added"
24) (integer) 0
25) "iids-duplicates"
26) (integer) 0
27) "entries"
28) 1) 1) "1-1"
       2) 1) "f"
          2) "1"
29) "groups"
30) 1)  1) "name"
        2) "g"
        3) "last-delivered-id"
        4) "0-0"
        5) "entries-read"
        6) (nil)
        7) "lag"
        8) (integer) 1
        9) "pel-count"
       10) (integer) 0
       11) "nacked-count"
       12) (integer) 0
       13) "pending"
       14) (empty array)
       15) "consumers\""""
EMPTY_STREAM = """\
 1) "length"
 2) (integer) 0
 3) "radix-tree-keys"
 4) (integer) 0
 5) "radix-tree-nodes"
 6) (integer) 1
 7) "last-generated-id"
 8) "0-0"
 9) "max-deleted-entry-id"
10) "0-0"
11) "entries-added"
12) (integer) 0
13) "recorded-first-entry-id"
14) "0-0"
{}) "{}"
{}) {}"""
GROUP_LAG = """\
1)  1) "name"
    2) "g"
    3) "consumers"
    4) (integer) 0
    5) "pending"
    6) (integer) 0
    7) "last-delivered-id"
    8) "{}"
    9) "entries-read"
   10) {}
   11) "lag"
   12) {}"""

DIFFERENCES = [
    Difference(
        "inactive",
        since="7.2",
        reason="XINFO CONSUMERS distinguishes the time since the last attempt (idle) from that "
        "since the last success (inactive). A claim is an attempt even if it claims nothing.",
        shown=Shown(
            ("XGROUP CREATE s g 0 MKSTREAM", "XGROUP CREATECONSUMER s g a", "XINFO CONSUMERS s g"),
            redis='1) 1) "name"\n   2) "a"\n   3) "pending"\n   4) (integer) 0\n'
            '   5) "idle"\n   6) (integer) <ms>',
            rillway='1) 1) "name"\n   2) "a"\n   3) "pending"\n   4) (integer) 0\n'
            '   5) "idle"\n   6) (integer) <ms>\n   7) "inactive"\n   8) (integer) -1',
        ),
        rule=rules.inactive,
    ),
    Difference(
        "active-time",
        since="7.2",
        reason="XINFO STREAM FULL has the same two times as seen-time and active-time.",
        shown=Shown(
            (
                "XADD s 1-1 f 1",
                "XGROUP CREATE s g 0",
                "XGROUP CREATECONSUMER s g a",
                "XINFO STREAM s FULL",
            ),
            redis=STREAM_WITH_CONSUMER
            + """
       14) 1) 1) "name"
              2) "a"
              3) "seen-time"
              4) (integer) <ms>
              5) "pel-count"
              6) (integer) 0
              7) "pending"
              8) (empty array)""",
            rillway=NEWER_STREAM_WITH_CONSUMER
            + """
       16) 1)  1) "name"
               2) "a"
               3) "seen-time"
               4) (integer) <ms>
               5) "active-time"
               6) (integer) -1
               7) "pel-count"
               8) (integer) 0
               9) "pending"
              10) (empty array)""",
        ),
        rule=rules.active_time,
    ),
    Difference(
        "idempotent producers",
        since="8.6",
        reason="XINFO STREAM reports the remembered IDs of producers.",
        shown=Shown(
            ("XGROUP CREATE s g 0 MKSTREAM", "XINFO STREAM s"),
            redis=EMPTY_STREAM.format("15", "groups", "16", "(integer) 1") + "\n"
            '17) "first-entry"\n18) (nil)\n19) "last-entry"\n20) (nil)',
            rillway=EMPTY_STREAM.format("15", "idmp-duration", "16", "(integer) 100") + "\n"
            '17) "idmp-maxsize"\n18) (integer) 100\n19) "pids-tracked"\n20) (integer) 0\n'
            '21) "iids-tracked"\n22) (integer) 0\n23) "iids-added"\n24) (integer) 0\n'
            '25) "iids-duplicates"\n26) (integer) 0\n27) "groups"\n28) (integer) 1\n'
            '29) "first-entry"\n30) (nil)\n31) "last-entry"\n32) (nil)',
        ),
        rule=rules.idempotence,
    ),
    Difference(
        "released entries",
        since="8.8",
        reason="XINFO STREAM FULL counts the pending entries of a group that have no owner.",
        shown=Shown(
            ("XGROUP CREATE s g 0 MKSTREAM", "XINFO STREAM s FULL"),
            redis=EMPTY_STREAM.format("15", "entries", "16", "(empty array)") + "\n"
            '17) "groups"\n18) 1)  1) "name"\n        2) "g"\n        3) "last-delivered-id"\n'
            '        4) "0-0"\n        5) "entries-read"\n        6) (nil)\n        7) "lag"\n'
            '        8) (integer) 0\n        9) "pel-count"\n       10) (integer) 0\n'
            '       11) "pending"\n       12) (empty array)\n       13) "consumers"\n'
            "       14) (empty array)",
            rillway=EMPTY_STREAM.format("15", "idmp-duration", "16", "(integer) 100") + "\n"
            '17) "idmp-maxsize"\n18) (integer) 100\n19) "pids-tracked"\n20) (integer) 0\n'
            '21) "iids-tracked"\n22) (integer) 0\n23) "iids-added"\n24) (integer) 0\n'
            '25) "iids-duplicates"\n26) (integer) 0\n27) "entries"\n28) (empty array)\n'
            '29) "groups"\n30) 1)  1) "name"\n        2) "g"\n        3) "last-delivered-id"\n'
            '        4) "0-0"\n        5) "entries-read"\n        6) (nil)\n        7) "lag"\n'
            '        8) (integer) 0\n        9) "pel-count"\n       10) (integer) 0\n'
            '       11) "nacked-count"\n       12) (integer) 0\n       13) "pending"\n'
            '       14) (empty array)\n       15) "consumers"\n       16) (empty array)',
        ),
        rule=rules.nacked_count,
    ),
    Difference(
        "last entry",
        since="7.4",
        reason="XREAD takes + for the last entry of a stream.",
        shown=Shown(
            ("XADD s 1-1 f 1", "XADD s 2-1 f 2", "XREAD COUNT 5 STREAMS s +"),
            redis="(error) ERR Invalid stream ID specified as stream command argument",
            rillway='1) 1) "s"\n   2) 1) 1) "2-1"\n         2) 1) "f"\n            2) "2"',
        ),
        rule=rules.last_entry,
    ),
    Difference(
        "last entry, group",
        since="7.4",
        reason="XREADGROUP says why + is of no use to it, as it did for $.",
        shown=Shown(
            ("XGROUP CREATE s g 0 MKSTREAM", "XREADGROUP GROUP g a STREAMS s +"),
            redis="(error) ERR Invalid stream ID specified as stream command argument",
            rillway=f"(error) {rules.PLUS_IS_MEANINGLESS[1:-2].decode()}",
        ),
    ),
    Difference(
        "unbalanced XREAD",
        since="7.4",
        reason="The text names the command that was sent, and knows +.",
        shown=Shown(
            ("XREAD STREAMS a b 0",),
            redis=f"(error) {rules.UNBALANCED[1:-2].decode()}",
            rillway=f"(error) {rules.UNBALANCED_NEWER[b'XREAD'][1:-2].decode()}",
        ),
        rule=rules.unbalanced,
    ),
    Difference(
        "unbalanced XREADGROUP",
        since="7.4",
        reason="As for XREAD.",
        shown=Shown(
            ("XREADGROUP GROUP g a STREAMS a b >",),
            redis=f"(error) {rules.UNBALANCED[1:-2].decode()}",
            rillway=f"(error) {rules.UNBALANCED_NEWER[b'XREADGROUP'][1:-2].decode()}",
        ),
    ),
    Difference(
        "consumers",
        since="7.2",
        reason="A consumer exists from its first attempt to read or claim, not its first success.",
        shown=Shown(
            (
                "XGROUP CREATE s g 0 MKSTREAM",
                "XREADGROUP GROUP g a STREAMS s >",
                "XCLAIM s g b 0 1-1",
                "XAUTOCLAIM s g c 0 0",
                "XGROUP CREATECONSUMER s g a",
                "XGROUP CREATECONSUMER s g b",
                "XGROUP CREATECONSUMER s g c",
            ),
            redis="(integer) 1",
            rillway="(integer) 0",
        ),
        rule=rules.consumers,
    ),
    Difference(
        "lag of an empty stream",
        since="7.4",
        reason="Nothing is left to read in an empty stream, whatever was counted.",
        shown=Shown(
            (
                "XADD s 1-1 f 1",
                "XADD s 2-1 f 1",
                "XGROUP CREATE s g 1-1",
                "XTRIM s MAXLEN 0",
                "XGROUP SETID s g 3-0",
                "XINFO GROUPS s",
            ),
            redis=GROUP_LAG.format("3-0", "(nil)", "(nil)"),
            rillway=GROUP_LAG.format("3-0", "(nil)", "(integer) 0"),
        ),
        rule=rules.counters,
    ),
    Difference(
        "lag before the first entry",
        since="7.4",
        reason="A group before the first entry has all entries to read, if none was deleted. "
        "Since 8.2, it has not read more than was ever added.",
        shown=Shown(
            (
                "XGROUP CREATE s g 0 MKSTREAM ENTRIESREAD 5",
                "XADD s 1-1 f 1",
                "XADD s 2-1 f 1",
                "XINFO GROUPS s",
            ),
            redis=GROUP_LAG.format("0-0", "(integer) 5", "(integer) -3"),
            rillway=GROUP_LAG.format("0-0", "(integer) 0", "(integer) 2"),
        ),
    ),
    Difference(
        "entries read after a deletion",
        since="7.2",
        reason="A group does not count on across deleted entries: it takes the stream's own count "
        "where that is known.",
        shown=Shown(
            (
                "XADD s 1-1 f 1",
                "XADD s 2-1 f 1",
                "XGROUP CREATE s g 0",
                "XREADGROUP GROUP g a COUNT 1 NOACK STREAMS s >",
                "XGROUP DELCONSUMER s g a",
                "XDEL s 2-1",
                "XADD s 3-1 f 1",
                "XREADGROUP GROUP g a NOACK STREAMS s >",
                "XGROUP DELCONSUMER s g a",
                "XINFO GROUPS s",
            ),
            redis=GROUP_LAG.format("3-1", "(integer) 2", "(integer) 1"),
            rillway=GROUP_LAG.format("3-1", "(integer) 3", "(integer) 0"),
        ),
    ),
    Difference(
        "XSETID",
        since="7.2",
        reason="The last ID cannot be set below an entry that was deleted.",
        shown=Shown(
            ("XADD s 4-0 f 1", "XADD s 5-0 f 1", "XDEL s 5-0", "XSETID s 4-5"),
            redis="OK",
            rillway=f"(error) {rules.BEHIND_DELETED[1:-2].decode()}",
        ),
        rule=rules.set_id,
    ),
    Difference(
        "the sequence of a ms runs out",
        since="7.2",
        reason="XADD ms-* names the true cause; Redis 7.0 named what an error number, left over "
        "from something else, happened to say.",
        shown=Shown(
            ("XADD s 5-18446744073709551615 f 1", "XADD s 5-* f 1"),
            redis=f"(error) {rules.TOO_LARGE[1:-2].decode()}",
            rillway=f"(error) {rules.NOT_GREATER[1:-2].decode()}",
        ),
        rule=rules.sequence_runs_out,
    ),
    Difference(
        "help",
        since="7.2",
        reason="The last line of every HELP reads otherwise.",
        shown=Shown(
            ("XINFO HELP",),
            redis=XINFO_HELP.format("Prints"),
            rillway=XINFO_HELP.format("Print"),
        ),
    ),
    Difference(
        "cursor",
        since="7.4",
        reason="SCAN takes no negative cursor, and no empty one; blanks before it are allowed.",
        shown=Shown(
            ("SCAN -1",), redis='1) "0"\n2) (empty array)', rillway="(error) ERR invalid cursor"
        ),
    ),
    Difference(
        "timeout",
        since="7.2",
        reason="A BLOCK that would end after the last possible time is refused.",
        shown=Shown(
            ("XADD s 1-1 f 1", "XREAD BLOCK 9223372036854775807 STREAMS s 0"),
            redis='1) 1) "s"\n   2) 1) 1) "1-1"\n         2) 1) "f"\n            2) "1"',
            rillway="(error) ERR timeout is out of range",
        ),
    ),
    Difference(
        "payloads",
        since="7.2",
        reason="DUMP writes version 11 of the format, and streams as type 21. What LZF makes of a "
        "long string is not prescribed.",
        shown=Shown(
            ("SET text 1", "DUMP text"),
            redis=r'"\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc"',
            rillway=r'"\x00\xc0\x01\x0b\x00O\xa7Z\xc5,\x9e\xf8u"',
        ),
        rule=rules.dumped,
    ),
    Difference(
        "surplus bytes",
        since="8.10",
        reason="Rillway's own: RESTORE refuses a payload with bytes after the value, and one whose "
        "value would end in the checksum, such as ten zero bytes.",
        shown=Shown(
            (r'RESTORE text 0 "\x00\xc0\x01xx\n\x00\xdfg6\xa5\xa9\xf1\xd7b"',),
            redis="OK",
            rillway="(error) ERR Bad data format",
        ),
    ),
    Difference(
        "scores",
        since="7.2",
        reason="Scores are printed with the fewest digits that read back as the same number, and "
        "large whole ones without an exponent.",
        shown=Shown(
            ("ZADD zset 0.1 a 1e17 b 3.5e-7 c", "ZRANGE zset 0 -1 WITHSCORES"),
            redis='1) "c"\n2) "3.4999999999999998e-07"\n3) "a"\n4) "0.10000000000000001"\n'
            '5) "b"\n6) "1e+17"',
            rillway='1) "c"\n2) "3.5e-7"\n3) "a"\n4) "0.1"\n5) "b"\n6) "100000000000000000"',
        ),
        rule=rules.score_text,
    ),
    Difference(
        "small sets",
        since="7.2",
        reason="A small set that has not only integers is a listpack.",
        shown=Shown(
            ("SADD set a", "OBJECT ENCODING set"), redis='"hashtable"', rillway='"listpack"'
        ),
        rule=rules.small_sets,
    ),
    Difference(
        "rank with score",
        since="7.2",
        reason="ZRANK and ZREVRANK have an option WITHSCORE.",
        shown=Shown(
            ("ZADD zset 1 a 2 b", "ZRANK zset b WITHSCORE"),
            redis="(error) ERR wrong number of arguments for 'zrank' command",
            rillway='1) (integer) 1\n2) "2"',
        ),
        rule=rules.rank_arity,
    ),
    Difference(
        "small lists",
        since="7.2",
        reason="A list that is no larger than a node is a listpack.",
        shown=Shown(
            ("RPUSH list a", "OBJECT ENCODING list"), redis='"quicklist"', rillway='"listpack"'
        ),
        rule=rules.small_lists,
    ),
    Difference(
        "ranges of bits",
        since="7.2",
        reason="BITCOUNT and BITPOS read all arguments before they look for the key.",
        shown=Shown(
            ("BITCOUNT missing 0 x",),
            redis="(integer) 0",
            rillway="(error) ERR value is not an integer or out of range",
        ),
        rule=rules.bit_range,
    ),
    Difference(
        "the least rank",
        since="7.2",
        reason="A rank that has no positive counterpart is refused.",
        shown=Shown(
            ("RPUSH list a", "LPOS list a RANK -9223372036854775808"),
            redis="(integer) 0",
            rillway="(error) ERR value is out of range, value must between -9223372036854775807"
            " and 9223372036854775807",
        ),
        rule=rules.rank_range,
    ),
    Difference(
        "a timeout in seconds that is too long",
        since="7.2",
        reason="It is out of range, not negative.",
        shown=Shown(
            ("BLPOP list 9223372036854776",),
            redis="(error) ERR timeout is negative",
            rillway="(error) ERR timeout is out of range",
        ),
    ),
]


# --- Blocked clients ---


@dataclass(frozen=True)
class BlockingDifference:
    """What `client` is sent because of one line of a scenario (scenarios.py): by Redis 7.0 one of
    `redis` (its RESP2 and RESP3 forms, where they differ), by Rillway one of `rillway`; empty where
    nothing is sent."""

    scenario: str
    line: str
    client: str
    since: str
    reason: str
    redis: tuple[bytes, ...]
    rillway: tuple[bytes, ...]


KEY_GONE = b"-UNBLOCKED the stream key no longer exists\r\n"
GROUP_GONE = b"-NOGROUP the consumer group this client was blocked on no longer exists\r\n"
WRONG_TYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"


def no_group(key: str) -> bytes:
    """XREADGROUP's answer where the key or the group is missing."""
    return (
        f"-NOGROUP No such key '{key}' or consumer group 'g' in XREADGROUP with GROUP option\r\n"
    ).encode()


def news(*entries: tuple[str, str]) -> tuple[bytes, ...]:
    """XREAD's reply, in RESP2 and in RESP3: (stream, entry ID) each, with the field f of 1."""
    pairs = [
        f"${len(stream)}\r\n{stream}\r\n*1\r\n*2\r\n${len(entry_id)}\r\n{entry_id}\r\n"
        "*2\r\n$1\r\nf\r\n$1\r\n1\r\n"
        for stream, entry_id in entries
    ]
    as_array = f"*{len(pairs)}\r\n" + "".join(f"*2\r\n{pair}" for pair in pairs)
    as_map = f"%{len(pairs)}\r\n" + "".join(pairs)
    return as_array.encode(), as_map.encode()


NOTHING: tuple[bytes, ...] = ()
NO_ENTRIES = (b"*1\r\n*2\r\n$1\r\ns\r\n*0\r\n", b"%1\r\n$1\r\ns\r\n*0\r\n")

RUN_AGAIN = "A woken command runs again from the start and answers as if it had been sent now."
BLOCKS_AGAIN = "Run again, a command that finds nothing blocks again, after the others on its keys."

# (scenario, line, client, what Redis 7.0 sends, what Rillway sends): errors.
_ERRORS = [
    ("the group is destroyed", "c: XGROUP DESTROY s g", "a", GROUP_GONE, no_group("s")),
    ("the group is destroyed", "c: XGROUP DESTROY s g", "b", GROUP_GONE, no_group("s")),
    ("the stream is deleted", "c: DEL s", "a", KEY_GONE, no_group("s")),
    ("the stream is unlinked", "c: UNLINK s", "a", KEY_GONE, no_group("s")),
    ("the stream comes back without the group", "c: EXEC", "a", GROUP_GONE, no_group("s")),
    ("one of two streams is deleted", "c: DEL t", "a", KEY_GONE, no_group("t")),
    ("the key is set to text", "c: SET s text", "a", KEY_GONE, WRONG_TYPE),
    ("the key is set to text by others", "c: MSET s text", "a", KEY_GONE, WRONG_TYPE),
    ("the key is set to text by others", "c: RENAME u t", "b", KEY_GONE, WRONG_TYPE),
    ("the stream is renamed", "c: RENAME s t", "a", KEY_GONE, no_group("s")),
    ("a stream without the group is renamed", "c: RENAME u s", "a", GROUP_GONE, no_group("s")),
    ("a stream without the group is copied", "c: COPY u s REPLACE", "a", GROUP_GONE, no_group("s")),
    ("the stream is moved away", "c: MOVE s 1", "a", KEY_GONE, no_group("s")),
    ("the databases are swapped", "c: SWAPDB 0 1", "a", KEY_GONE, no_group("s")),
    ("everything is flushed", "c: FLUSHALL", "a", KEY_GONE, no_group("s")),
    ("the database is flushed", "c: FLUSHDB", "a", KEY_GONE, no_group("s")),
    ("the stream expires", "await a", "a", KEY_GONE, no_group("s")),
    ("the stream expires in the past", "c: EXPIRE s -1", "a", KEY_GONE, no_group("s")),
]
# (scenario, reason, and line, client, what Redis 7.0 sends, what Rillway sends): entries.
_T1, _T2, _S2 = news(("t", "1-1")), news(("t", "2-1")), news(("s", "2-1"))
_TRIMMED = [
    ("c: XADD s MAXLEN 0 1-1 f 1", "a", NO_ENTRIES, NOTHING),
    ("c: XADD s 2-1 f 1", "a", NOTHING, _S2),
]
_ENTRIES: list[tuple[str, str, list[tuple[str, str, tuple[bytes, ...], tuple[bytes, ...]]]]] = [
    (
        "all that one transaction added",
        RUN_AGAIN,
        [("c: EXEC", "a", _T1, news(("s", "1-1"), ("t", "1-1")))],
    ),
    (
        "the same stream twice, both with news",
        RUN_AGAIN,
        [("c: XADD s 3-1 f 1", "a", news(("s", "3-1")), news(("s", "3-1"), ("s", "3-1")))],
    ),
    (
        "the first key that has something",
        RUN_AGAIN,
        [
            (
                "c: EXEC",
                "a",
                (b"*2\r\n$5\r\nlist3\r\n$1\r\n3\r\n",),
                (b"*2\r\n$5\r\nlist2\r\n$1\r\n2\r\n",),
            )
        ],
    ),
    ("an entry trimmed as it is added", BLOCKS_AGAIN, _TRIMMED),
    ("an entry trimmed as it is added, for a group", BLOCKS_AGAIN, _TRIMMED),
    (
        "who was passed over goes to the end",
        BLOCKS_AGAIN,
        [
            ("c: XADD t 1-1 f 1", "a", _T1, NOTHING),
            ("c: XADD t 1-1 f 1", "b", NOTHING, _T1),
            ("c: XADD t 2-1 f 1", "a", NOTHING, _T2),
            ("c: XADD t 2-1 f 1", "b", _T2, NOTHING),
        ],
    ),
]

# A waiter for several keys tries them in its own order; in Redis 7.0 the one that was ready first.
_ONE = (b"*3\r\n$1\r\nz\r\n$3\r\none\r\n$1\r\n1\r\n", b"*3\r\n$1\r\nz\r\n$3\r\none\r\n,1\r\n")
_TWO = (b"*3\r\n$1\r\ny\r\n$3\r\ntwo\r\n$1\r\n2\r\n", b"*3\r\n$1\r\ny\r\n$3\r\ntwo\r\n,2\r\n")
_ENTRIES.append(
    (
        "a sorted set that was waited for by several keys",
        RUN_AGAIN,
        [("c: EXEC", "a", _ONE, _TWO), ("c: EXEC", "b", _TWO, _ONE)],
    )
)

BLOCKING_DIFFERENCES = [
    BlockingDifference(scenario, line, client, "7.2", RUN_AGAIN, (redis,), (rillway,))
    for scenario, line, client, redis, rillway in _ERRORS
] + [
    BlockingDifference(scenario, line, client, "7.2", reason, redis, rillway)
    for scenario, reason, steps in _ENTRIES
    for line, client, redis, rillway in steps
]


def adjust(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """What Redis 8.10 would have answered where Redis 7.0 answered as it did."""
    for difference in DIFFERENCES:
        if difference.rule is not None:
            wanted = difference.rule(history, exchange, wanted)
    return wanted
