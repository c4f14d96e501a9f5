"""How Rillway, which answers as Redis 8.10, differs from the Redis 8.2 that it is compared with,
and from Redis 7.0, which many distributions have.

Each difference says which Redis brought it and why, and is shown by a few commands with both
answers, which are run on both servers: an entry that is no longer true fails. What is newer than
8.2 has a rule that turns Redis 8.2's reply into Redis 8.10's; what is not named must be the same,
byte for byte. What changed between 7.0 and 8.2 is only shown, with 8.2 answering as Rillway does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.compat.comparison import (
    Either,
    Exactly,
    Exchange,
    Expected,
    Payload,
    changed_field,
    changed_items,
    with_field_after,
)

Rule: TypeAlias = Callable[[Exchange, Expected], Expected]


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
    """`since` is the Redis whose behaviour Rillway has."""

    name: str
    since: str
    reason: str
    shown: Shown
    rule: Rule | None = None


# -- newer than Redis 8.2 ------------------------------------------------------------------------

# The fields of a stream without entries of idempotent producers.
IDEMPOTENCE_FIELDS = {
    b"idmp-duration": b":100\r\n",
    b"idmp-maxsize": b":100\r\n",
    b"pids-tracked": b":0\r\n",
    b"iids-tracked": b":0\r\n",
    b"iids-added": b":0\r\n",
    b"iids-duplicates": b":0\r\n",
}


def asks_for_a_stream(exchange: Exchange) -> bool:
    return [word.upper() for word in exchange.argv[:2]] == [b"XINFO", b"STREAM"]


def idempotence(exchange: Exchange, wanted: Expected) -> Expected:
    if not asks_for_a_stream(exchange):
        return wanted
    before = b"recorded-first-entry-id"
    for name, value in IDEMPOTENCE_FIELDS.items():
        wanted = with_field_after(wanted, before, name, Exactly(value))
        before = name
    return wanted


def nacked_count(exchange: Exchange, wanted: Expected) -> Expected:
    if not asks_for_a_stream(exchange):
        return wanted
    none = Exactly(b":0\r\n")
    return changed_field(
        wanted,
        b"groups",
        lambda groups: changed_items(
            groups, lambda group: with_field_after(group, b"pel-count", b"nacked-count", none)
        ),
    )


def dumped(exchange: Exchange, wanted: Expected) -> Expected:
    if exchange.argv[0].upper() == b"DUMP" and exchange.theirs.kind == b"$":
        return wanted if exchange.theirs.is_null else Payload(exchange.theirs.text)
    return wanted


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
EMPTIED_STREAM = """\
 1) "length"
 2) (integer) 0
 3) "radix-tree-keys"
 4) (integer) {}
 5) "radix-tree-nodes"
 6) (integer) {}
 7) "last-generated-id"
 8) "2-0"
 9) "max-deleted-entry-id"
10) "2-0"
11) "entries-added"
12) (integer) 2
13) "recorded-first-entry-id"
14) "0-0"
{}"""
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


def short_text(exchange: Exchange, wanted: Expected) -> Expected:
    if exchange.argv[0].upper() != b"OBJECT" or exchange.theirs.text != b"raw":
        return wanted
    return Either((wanted, Exactly(b"$6\r\nembstr\r\n")))


NEWER_THAN_8_2 = [
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
        rule=idempotence,
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
        rule=nacked_count,
    ),
    Difference(
        "short texts",
        since="7.0",
        reason="A text of up to 44 bytes is an embstr; in Redis 8.2 one that fits in 64 bytes "
        "together with its key.",
        shown=Shown(
            (f"SET text {'x' * 44}", "OBJECT ENCODING text"), redis='"raw"', rillway='"embstr"'
        ),
        rule=short_text,
    ),
    Difference(
        "payloads",
        since="7.2",
        reason="DUMP writes version 11 of the format, as Redis 7.2; Redis 8.2 writes version 12. "
        "What LZF makes of a long string is not prescribed.",
        shown=Shown(
            ("SET text 1", "DUMP text"),
            redis=r'"\x00\xc0\x01\x0c\x00\xed\x0e\xd3v++\x8f\xb5"',
            rillway=r'"\x00\xc0\x01\x0b\x00O\xa7Z\xc5,\x9e\xf8u"',
        ),
        rule=dumped,
    ),
    Difference(
        "a reader named STREAMS",
        since="8.2.9",
        reason="The keys of XREAD and XREADGROUP are those that they read, whatever groups and "
        "consumers are called, for ACL as well (redis#15478). COMMAND INFO calls their key "
        "specification, and that of GEORADIUS ... STORE, incomplete.",
        shown=Shown(
            ("COMMAND GETKEYS XREADGROUP NOACK GROUP g STREAMS STREAMS s >",),
            redis='1) "STREAMS"',
            rillway='1) "s"',
        ),
    ),
    Difference(
        "approximate trims and references",
        since="8.2.7",
        reason="A trim with ~ and DELREF or ACKED deletes, and looks at single entries; in "
        "Redis 8.2.3 it deletes nothing (redis#14623, redis#14656).",
        shown=Shown(
            (
                "XADD s 1-0 f 1",
                "XADD s 2-0 f 1",
                "XGROUP CREATE s g 0",
                "XREADGROUP GROUP g a NOACK STREAMS s >",
                "XTRIM s MAXLEN ~ 1 ACKED",
            ),
            redis="(integer) 0",
            rillway="(integer) 1",
        ),
    ),
    Difference(
        "ACKED after XGROUP DESTROY",
        since="8.2.7",
        reason="A destroyed group keeps no entry; in Redis 8.2.3 it may go on to (redis#14552).",
        shown=Shown(
            (
                "XADD s 1-0 f 1",
                "XGROUP CREATE s g 1-0",
                "XGROUP CREATE s h 0",
                "XDELEX s ACKED IDS 1 1-0",
                "XGROUP DESTROY s h",
                "XDELEX s ACKED IDS 1 1-0",
            ),
            redis="1) (integer) 2",
            rillway="1) (integer) 1",
        ),
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
        "nodes without an entry",
        since="8.10",
        reason="A trim drops the node whose last entry it removes, even if entries that were "
        "deleted before are above what it trims (redis#15808).",
        shown=Shown(
            (
                "XADD s 1-0 f 1",
                "XADD s 2-0 f 1",
                "XDEL s 2-0",
                "XTRIM s MINID 2-0",
                "XINFO STREAM s",
            ),
            redis=EMPTIED_STREAM.format(
                1,
                2,
                '15) "groups"\n16) (integer) 0\n17) "first-entry"\n18) (nil)\n'
                '19) "last-entry"\n20) (nil)',
            ),
            rillway=EMPTIED_STREAM.format(
                0,
                1,
                '15) "idmp-duration"\n16) (integer) 100\n17) "idmp-maxsize"\n'
                '18) (integer) 100\n19) "pids-tracked"\n20) (integer) 0\n'
                '21) "iids-tracked"\n22) (integer) 0\n23) "iids-added"\n24) (integer) 0\n'
                '25) "iids-duplicates"\n26) (integer) 0\n27) "groups"\n28) (integer) 0\n'
                '29) "first-entry"\n30) (nil)\n31) "last-entry"\n32) (nil)',
            ),
        ),
    ),
    Difference(
        "entries read and XSETID",
        since="8.10",
        reason="XSETID with fewer ENTRIESADDED than a group has read leaves no negative lag "
        "(redis#15488).",
        shown=Shown(
            (
                "XADD s 1-1 f 1",
                "XADD s 1-2 f 1",
                "XADD s 1-3 f 1",
                "XGROUP CREATE s g 1-3 ENTRIESREAD 3",
                "XTRIM s MAXLEN 1",
                "XSETID s 1-3 ENTRIESADDED 1",
                "XINFO GROUPS s",
            ),
            redis=GROUP_LAG.format("1-3", "(integer) 3", "(integer) -2"),
            rillway=GROUP_LAG.format("1-3", "(integer) 1", "(integer) 0"),
        ),
    ),
    Difference(
        "entries read by a group that was set back",
        since="8.10",
        reason="Rillway's own: a group with too great an ENTRIESREAD does not count on beyond what "
        "was added; Redis 8.10 would not load that (redis#15308).",
        shown=Shown(
            (
                "XADD s 1-1 f 1",
                "XADD s 1-2 f 1",
                "XADD s 1-3 f 1",
                "XGROUP CREATE s g 1-1 ENTRIESREAD 3",
                "XREADGROUP GROUP g a NOACK STREAMS s >",
                "XGROUP DELCONSUMER s g a",
                "XINFO GROUPS s",
            ),
            redis=GROUP_LAG.format("1-3", "(integer) 5", "(integer) -2"),
            rillway=GROUP_LAG.format("1-3", "(integer) 3", "(integer) 0"),
        ),
    ),
    Difference(
        "references that DELREF passes",
        since="8.10",
        reason="A trim with DELREF also drops references to entries that were deleted before, "
        "where they lie in what it trims (redis#15581).",
        shown=Shown(
            (
                "XADD s 1-1 f 1",
                "XADD s 1-2 f 1",
                "XADD s 1-3 f 1",
                "XGROUP CREATE s g 0",
                "XREADGROUP GROUP g a STREAMS s >",
                "XDEL s 1-1",
                "XTRIM s MINID 1-3 DELREF",
                "XPENDING s g",
            ),
            redis='1) (integer) 2\n2) "1-1"\n3) "1-3"\n4) 1) 1) "a"\n      2) "2"',
            rillway='1) (integer) 1\n2) "1-3"\n3) "1-3"\n4) 1) 1) "a"\n      2) "1"',
        ),
    ),
]


def adjust(exchange: Exchange, wanted: Expected) -> Expected:
    """What Redis 8.10 would have answered where Redis 8.2 answered as it did."""
    for difference in NEWER_THAN_8_2:
        if difference.rule is not None:
            wanted = difference.rule(exchange, wanted)
    return wanted


# -- changed between Redis 7.0 and 8.2 -----------------------------------------------------------

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

NEWER_THAN_7_0 = [
    Difference(
        "inactive",
        since="7.2",
        reason="XINFO CONSUMERS distinguishes the time since the last attempt (idle) from that "
        "since the last success (inactive). A claim is an attempt even if it claims nothing. "
        "XINFO STREAM FULL has the two as seen-time and active-time.",
        shown=Shown(
            ("XGROUP CREATE s g 0 MKSTREAM", "XGROUP CREATECONSUMER s g a", "XINFO CONSUMERS s g"),
            redis='1) 1) "name"\n   2) "a"\n   3) "pending"\n   4) (integer) 0\n'
            '   5) "idle"\n   6) (integer) <ms>',
            rillway='1) 1) "name"\n   2) "a"\n   3) "pending"\n   4) (integer) 0\n'
            '   5) "idle"\n   6) (integer) <ms>\n   7) "inactive"\n   8) (integer) -1',
        ),
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
    ),
    Difference(
        "last entry, group",
        since="7.4",
        reason="XREADGROUP says why + is of no use to it, as it did for $.",
        shown=Shown(
            ("XGROUP CREATE s g 0 MKSTREAM", "XREADGROUP GROUP g a STREAMS s +"),
            redis="(error) ERR Invalid stream ID specified as stream command argument",
            rillway="(error) ERR The + ID is meaningless in the context of XREADGROUP: you "
            "want to read the history of this consumer by specifying a proper ID, "
            "or use the > ID to get new messages. The + ID would just return an "
            "empty result set.",
        ),
    ),
    Difference(
        "unbalanced XREAD",
        since="7.4",
        reason="The text names the command that was sent, and knows +.",
        shown=Shown(
            ("XREAD STREAMS a b 0",),
            redis="(error) ERR Unbalanced XREAD list of streams: for each stream key an "
            "ID or '$' must be specified.",
            rillway="(error) ERR Unbalanced 'xread' list of streams: for each stream key an "
            "ID, '+', or '$' must be specified.",
        ),
    ),
    Difference(
        "unbalanced XREADGROUP",
        since="7.4",
        reason="As for XREAD.",
        shown=Shown(
            ("XREADGROUP GROUP g a STREAMS a b >",),
            redis="(error) ERR Unbalanced XREAD list of streams: for each stream key an "
            "ID or '$' must be specified.",
            rillway="(error) ERR Unbalanced 'xreadgroup' list of streams: for each stream "
            "key an ID or '>' must be specified.",
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
            rillway="(error) ERR The ID specified in XSETID is smaller than current "
            "max_deleted_entry_id",
        ),
    ),
    Difference(
        "the sequence of a ms runs out",
        since="7.2",
        reason="XADD ms-* names the true cause; Redis 7.0 named what an error number, left over "
        "from something else, happened to say.",
        shown=Shown(
            ("XADD s 5-18446744073709551615 f 1", "XADD s 5-* f 1"),
            redis="(error) ERR Elements are too large to be stored",
            rillway="(error) ERR The ID specified in XADD is equal or smaller than the "
            "target stream top item",
        ),
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
    ),
    Difference(
        "small sets",
        since="7.2",
        reason="A small set that has not only integers is a listpack.",
        shown=Shown(
            ("SADD set a", "OBJECT ENCODING set"), redis='"hashtable"', rillway='"listpack"'
        ),
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
    ),
    Difference(
        "small lists",
        since="7.2",
        reason="A list that is no larger than a node is a listpack.",
        shown=Shown(
            ("RPUSH list a", "OBJECT ENCODING list"), redis='"quicklist"', rillway='"listpack"'
        ),
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

# -- fields of INFO and CLIENT LIST --------------------------------------------------------------

# How Redis's program was built, and its modules.
MISSING_INFO_FIELDS = {"redis_build_id", "atomicvar_api", "gcc_version", "module"}
ADDED_INFO_FIELDS = {
    # Rillway's own
    "rillway_version", "rillway_compiled", "rdb_last_load_keys_skipped", "chores_pending",
    "chores_steps", "chores_duration_sum", "repl_newer_commands_refused",
    "repl_last_newer_command", "repl_older_replicas_refused",
    # Valkey's, and Redis's since 8.6
    "acl_access_denied_tls_cert",
    # newer than Redis 8.2: redis#14841 and others
    "active_clients", "mem_clients_normal_shared", "mem_clients_normal_unshared",
    "mem_cluster_slot_migration_output_buffer", "mem_cluster_slot_migration_input_buffer",
    "mem_cluster_slot_migration_input_buffer_peak", "rdb_saves_consecutive_failures",
    "expired_subkeys_active", "expired_keys_active", "eventloop_cycles_with_clients_processing",
    "total_client_processing_events", "avg_pipeline_length_sum", "avg_pipeline_length_cnt",
    "avg_pipeline_length", "slowlog_commands_count", "slowlog_commands_time_ms_max",
    "slowlog_commands_time_ms_sum",
}  # fmt: skip
# Redis 8.8: redis#14934 and redis#14841.
ADDED_CLIENT_FIELDS = {
    "omem-shared", "omem-unshared", "read-events", "avg-pipeline-len-sum", "avg-pipeline-len-cnt",
}  # fmt: skip
