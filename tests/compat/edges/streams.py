"""Edge cases that random sequences rarely reach, as short scripts.

A script is a text. ` ; ` separates commands on one line, `{a | b | c}` repeats the line for each of
the alternatives, `{1..9}` for each of the numbers. A brace may be closed on a later line, and a
line that begins with `;` continues the one before. Every script starts from an empty server with
nodes of 100 entries, and is compared like a random sequence.
"""

from __future__ import annotations

import re

from tests.compat.commands.odd_ids import scripts as odd_id_scripts

GROUP = re.compile(r"\{([^}]*)\}")
RANGE = re.compile(r"(\d+)\.\.(\d+)")


def commands_of(script: str) -> list[str]:
    """The commands of a script, as typed into redis-cli."""
    return [
        command.strip()
        for line in _whole_lines(script)
        for one in _expanded(line)
        for command in one.split(" ; ")
    ]


def _whole_lines(script: str) -> list[str]:
    lines: list[str] = []
    for line in script.splitlines():
        text = line.strip()
        is_open = bool(lines) and lines[-1].count("{") > lines[-1].count("}")
        if is_open or text.startswith(";"):
            lines[-1] += " " + text
        elif text:
            lines.append(text)
    return lines


def _expanded(line: str) -> list[str]:
    """The line once for each alternative of its first group, and so on for the others."""
    group = GROUP.search(line)
    if group is None:
        return [line]
    numbers = RANGE.fullmatch(group[1])
    if numbers is not None:
        choices = [str(number) for number in range(int(numbers[1]), int(numbers[2]) + 1)]
    else:
        choices = [choice.strip() for choice in group[1].split("|")]
    before, after = line[: group.start()], line[group.end() :]
    return [one for choice in choices for one in _expanded(before + choice + after)]


ENTRY_IDS = {
    "the sequence of a ms runs out": """
        XADD s 5-18446744073709551615 f 1
        XADD s {5-* | 5 | 4-* | 6-* | 6-*} f 1
    """,
    "the last ID of all": """
        XADD s 18446744073709551615-18446744073709551614 f 1
        XADD s {* | * | 18446744073709551615-* | 18446744073709551615-18446744073709551615} f 1
        XRANGE s {18446744073709551615 + | (18446744073709551615-18446744073709551615 + | - (0-0}
        XREVRANGE s + (18446744073709551615-18446744073709551615
        XREAD STREAMS s {18446744073709551615-18446744073709551615 | $}
        XGROUP CREATE s g $ ; XREADGROUP GROUP g a STREAMS s >
        XGROUP SETID s g 0 ; XREADGROUP GROUP g a STREAMS s > ; XREADGROUP GROUP g a STREAMS s >
        XAUTOCLAIM s g b 0 {18446744073709551615-18446744073709551615 |
            (18446744073709551615-18446744073709551615}
    """,
    "the clock is behind the last ID": """
        XADD s 99999999999999-18446744073709551615 f 1
        XADD s * f 1 ; XADD s * f 1
    """,
    "ms-* on a new stream": """
        XADD s {0-* | 0-* | 7-* | 6-* | -* | *-1 | *-* | 8-** | 184467440737095516150-*} f 1
    """,
    "0-0 and below": """
        XADD s {0-0 | 0 | - | + | -1 | -1-1 | 0--1} f 1
        EXISTS s
        XADD s 0-1 f 1 ; XADD s 0-1 f 1
    """,
    "IDs after everything was deleted": """
        XADD s {1..3}-0 f 1
        XDEL s 1-0 2-0 3-0
        XADD s {3-0 | 2-5 | 3-1} f 1
        XINFO STREAM s FULL
    """,
    "bounds of a range": """
        XADD s {1..4}-0 f 1
        XRANGE s {2-0 | (2-0 | 2 | (2 | 1-1 | 4-1 | 5 | (4-0} +
        XRANGE s - {2-0 | (2-0 | 2 | (2 | 1-1 | 0-1 | (1-0 | (1}
        XREVRANGE s {2-0 | (2-0 | 2 | (2 | 1-1 | 0-1 | (1-0 | (1} -
        XREVRANGE s + {2-0 | (2-0 | 2 | (2 | 1-1 | 4-1 | 5 | (4-0}
        XRANGE s {3 2 | 2-0 2-0 | (2-0 (2-0 | (2-0 (3-0}
        XREVRANGE s 2 3
        XRANGE s - + COUNT {0 | 1 | 4 | 5 | -1 | -5 | x}
        XREVRANGE s + - COUNT {0 | 1 | 4 | 5 | -1}
        XREAD COUNT {0 | 1 | -1 | 4} STREAMS s 0
        XREAD STREAMS s {2-0 | 2 | 1-1 | 4-0 | 3-18446744073709551615}
        XRANGE missing - + COUNT 0 ; XREVRANGE missing + - COUNT -1
    """,
    "ranges over deleted entries and many nodes": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..12}-0 f 1
        XDEL s 1-0 5-0 7-0 8-0 9-0 12-0
        XRANGE s - + ; XREVRANGE s + -
        XRANGE s {1-0 | 5-0 | 7-0 | 9-0 | 12-0} + COUNT 2
        XREVRANGE s {12-0 | 9-0 | 8-0 | 5-0 | 1-0} - COUNT 2
        XREAD COUNT 1 STREAMS s {0 | 4-0 | 6-0 | 11-0}
        XINFO STREAM s ; XLEN s
    """,
}

TRIMMING = {
    "an approximate trim and its limit": """
        CONFIG SET stream-node-max-entries 2
        XADD s {1..10}-0 f 1
        XTRIM s MAXLEN ~ 0 LIMIT {1 | 2 | 3 | 5 | 0}
        XLEN s ; XINFO STREAM s FULL
    """,
    "an approximate trim spares a part of a node": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..10}-0 f 1
        XTRIM s MAXLEN ~ {10 | 9 | 8 | 7 | 5 | 4 | 1 | 0}
        XINFO STREAM s FULL
    """,
    "an approximate trim counts what is alive": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..9}-0 f 1
        XDEL s 2-0 4-0 5-0
        XTRIM s MAXLEN ~ {5 | 4 | 3} LIMIT 2
        XRANGE s - + ; XTRIM s MAXLEN ~ 3 ; XINFO STREAM s FULL
    """,
    "an approximate trim by ID": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..10}-0 f 1
        XTRIM s MINID ~ {3-0 | 3-1 | 4-0 | 6-0 | 10 LIMIT 2 | 10 LIMIT 3 | 99}
        XINFO STREAM s FULL
    """,
    "an approximate trim without a limit of its own": """
        CONFIG SET stream-node-max-entries 1
        XADD s {1..130}-0 f 1
        XTRIM s MAXLEN ~ 0 ; XLEN s
        XADD s MAXLEN ~ 0 200-0 f 1 ; XLEN s
    """,
    "nodes without a bound": """
        CONFIG SET stream-node-max-entries 0
        XADD s {1..210}-0 f 1
        XINFO STREAM s ; XTRIM s MAXLEN ~ 10 ; XTRIM s MAXLEN 10
        XINFO STREAM s FULL
    """,
    "an exact trim by ID": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..10}-0 f 1
        XTRIM s MINID {1-0 | 2-0 | 2-1 | 3-1 | 7 | = 8-0 | 11}
        XINFO STREAM s FULL ; XADD s 11-0 f 1 ; XINFO STREAM s FULL
    """,
    "an exact trim by length": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..10}-0 f 1
        XTRIM s MAXLEN {11 | 10 | 9 | = 7 | 5 | 1 | 0 | 0}
        XINFO STREAM s FULL
    """,
    "XADD trims after it has added": """
        CONFIG SET stream-node-max-entries 2
        XADD s {1..4}-0 f 1
        XADD s {MAXLEN 3 5-0 | MAXLEN = 3 NOMKSTREAM 6-0 | NOMKSTREAM MINID 6-0 7-0 |
            MINID 99 8-0 | MAXLEN 0 9-0 | MAXLEN ~ 1 10-0 | MAXLEN ~ 1 LIMIT 1 11-0 |
            maxlen ~ 1 limit 2 12-0} f 1
        XINFO STREAM s FULL
    """,
    "trimming options that do not fit": """
        XADD s {1..3}-0 f 1
        XTRIM s {MAXLEN | MINID | MAXLEN ~ | MAXLEN = | MAXLEN -1 | MAXLEN x | MINID x | MINID - |
            MAXLEN 1 MINID 1 | MINID 1 MAXLEN 1 | MAXLEN 1 MAXLEN 2 | MAXLEN 1 LIMIT 1 |
            MAXLEN = 1 LIMIT 1 | MAXLEN 1 LIMIT 0 | LIMIT 1 MAXLEN ~ 1 | MAXLEN ~ 1 LIMIT -1 |
            MAXLEN ~ 1 LIMIT x | MAXLEN ~ 1 LIMIT | LIMIT 1 | FOO 1 | ~ MAXLEN 1 | MAXLEN ~ ~ 1}
        XADD s {MAXLEN | MINID | MAXLEN ~ | MAXLEN -1 | MAXLEN x | MINID x | MAXLEN 1 MINID 1 |
            MAXLEN 1 LIMIT 1 | LIMIT 1 | LIMIT 0 | FOO | NOMKSTREAM NOMKSTREAM} 9-0 f 1
        XADD s {MAXLEN 10 | MAXLEN 10 * | MAXLEN 10 * f | 10-0 f 1 g}
        XINFO STREAM s FULL
    """,
    "trimming leaves pending entries": """
        XADD s {1..4}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XTRIM s MAXLEN 2
        XREADGROUP GROUP g alice STREAMS s 0 ; XPENDING s g - + 10
        XCLAIM s g bob 0 1-0 3-0 ; XAUTOCLAIM s g bob 0 0 JUSTID
        XINFO STREAM s FULL
    """,
    "large values fill a node": f"""
        XADD s {{1..2}}-0 f {"v" * 2000}
        XADD s 3-0 f {"v" * 5000}
        XADD s {{4..5}}-0 f {"v" * 10}
        XADD s 6-0 f {"v" * 4095}
        XADD s 7-0 f v
        XINFO STREAM s ; XTRIM s MAXLEN ~ 1 ; XINFO STREAM s
    """,
}

DELETIONS = {
    "XDELEX and the references of groups": """
        XADD s {1..9}-0 f 1
        XGROUP CREATE s {g | h} 0
        XREADGROUP GROUP {g | h} alice COUNT 6 STREAMS s > ; XACK s g 1-0 2-0 4-0 ; XACK s h 1-0 4-0
        XDELEX s ACKED IDS {2 1-0 2-0 | 3 7-0 99-0 0-1 | 2 4-0 4-0 | 1 1-0}
        XDELEX s {IDS 2 3-0 3-0 | DELREF IDS 2 3-0 5-0 | KEEPREF IDS 1 6-0}
        XPENDING s {g | h} - + 10 ; XDELEX s DELREF IDS 2 6-0 6-0 ; XPENDING s g
        XGROUP SETID s h 1-0 ; XDELEX s ACKED IDS 1 2-0 ; XACK s h 2-0
        XDELEX s ACKED IDS 1 2-0 ; XGROUP SETID s h 9-0 ; XDELEX s ACKED IDS {1 2-0 | 1 8-0}
        XINFO STREAM s FULL
    """,
    "XACKDEL and the references of groups": """
        XADD s {1..9}-0 f 1
        XGROUP CREATE s {g | h} 0
        XREADGROUP GROUP {g | h} alice COUNT 6 STREAMS s >
        XACKDEL s {g ACKED IDS 2 1-0 9-0 | h ACKED IDS 2 1-0 2-0 | g IDS 3 3-0 3-0 7-0 |
            g DELREF IDS 1 4-0 | h KEEPREF IDS 1 5-0 | h IDS 1 3-0 | none IDS 2 1-0 2-0}
        XDEL s 6-0 ; XACKDEL s g ACKED IDS 1 6-0 ; XACKDEL s h ACKED IDS 1 6-0
        XPENDING s {g | h} - + 10 ; XINFO STREAM s FULL
    """,
    "XACKDEL of many entries": """
        XADD s {1..40}-0 f 1 ; XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XACKDEL s g IDS 12 1-0 2-0 3-0 4-0 5-0 6-0 7-0 8-0 9-0 10-0 11-0 12-0 ; XLEN s
        XPENDING s g
    """,
    "exact trims and the references of groups": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..12}-0 f 1
        XGROUP CREATE s {g | h} 0
        XREADGROUP GROUP {g | h} alice COUNT 9 STREAMS s > ; XACK s g 1-0 2-0 5-0 ; XACK s h 1-0 5-0
        XTRIM s {ACKED MAXLEN 11 | MAXLEN = 9 ACKED | MINID 6-0 ACKED | MINID 3-0 DELREF}
        XPENDING s {g | h} - + 10 ; XINFO STREAM s FULL
        XADD s {ACKED MAXLEN 2 13-0 | DELREF MAXLEN 5 14-0 | NOMKSTREAM DELREF MINID 10 15-0} f 1
        XPENDING s {g | h} - + 10 ; XINFO STREAM s FULL
    """,
    "exact trims that keep the references of groups": """
        CONFIG SET stream-node-max-entries 3
        XADD s {1..12}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice COUNT 9 STREAMS s >
        XTRIM s {MAXLEN 10 KEEPREF | KEEPREF MINID 5-0}
        XPENDING s g - + 10 ; XINFO STREAM s FULL
    """,
    "options of deletions that do not fit": """
        XADD s {1..3}-0 f 1 ; XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s > ; SET t x
        XDELEX s {IDS 0 1-0 | IDS -1 1-0 | IDS x 1-0 | IDS 2 1-0 | IDS 1 1-0 2-0 | IDS 1 |
            KEEPREF ACKED IDS 1 1-0 | FOO IDS 1 1-0 | IDS 1 x | IDS 1 + | IDS 1 ( | FOO 1 1-0 |
            ACKED KEEPREF DELREF 1 | IDS 9223372036854775807 1-0 | IDS 9223372036854775808 1-0}
        XACKDEL s g {IDS 0 1-0 | IDS 2 1-0 | IDS 1 1-0 2-0 | KEEPREF IDS 1 | FOO IDS 1 1-0 |
            IDS 1 x | KEEPREF 1 1-0 2-0}
        XDELEX s {IDS 1 1-0 KEEPREF | IDS 1 bad DELREF IDS 1 2-0 | IDS 1 1-0 IDS 2 3-0}
        {XDELEX missing IDS 2 1-0 2-0 | XACKDEL missing g IDS 2 1-0 2-0 | XDELEX t IDS 1 1-0 |
            XACKDEL t g IDS 1 1-0 | XDELEX s | XACKDEL s g}
        XTRIM s {MAXLEN 1 ACKED DELREF | ACKED | ACKED ACKED MAXLEN 1}
        XADD s {ACKED DELREF MAXLEN 1 | DELREF | ACKED LIMIT 1} 9-0 f 1
        XINFO STREAM s FULL
    """,
}

PENDING = {
    "bounds of XPENDING": """
        XADD s {1..4}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XCLAIM s g bob 0 3-0 IDLE 200000
        XPENDING s g {- | 2-0 | (2-0 | 2 | 4-0 | (4-0 | 5} + 10
        XPENDING s g - {+ | 2-0 | (2-0 | 2 | 1-0 | (1-0 | 0} 10
        XPENDING s g - + {0 | 1 | 3 | 4 | -1 | x | 9223372036854775807}
        XPENDING s g - + 10 {alice | bob | carol | ""}
        XPENDING s g IDLE {0 | 100000 | 300000 | -1 | x} - + 10
        XPENDING s g IDLE 100000 - + 10 {bob | alice}
        XPENDING s {g IDLE 100000 | g IDLE 100000 - + | g - + | g - + 1 alice extra | g | h}
        XPENDING t g - + 1
    """,
    "bounds of a consumer's history": """
        XADD s {1..4}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XDEL s 2-0
        XREADGROUP GROUP g alice STREAMS s {0 | 1-0 | 2-0 | 3-0 | 4-0 | 1 | 9}
        XREADGROUP GROUP g alice COUNT {0 | 1 | 2 | -1} STREAMS s 0
        XREADGROUP GROUP g bob STREAMS s 0 ; XREADGROUP GROUP g alice NOACK STREAMS s 0
        XPENDING s g - + 10
    """,
    "XCLAIM's times and counts": """
        XADD s {1..6}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XCLAIM s g bob 0 {1-0 TIME -5 | 2-0 TIME 99999999999999 | 3-0 IDLE -5 |
            4-0 IDLE 9223372036854775807 | 5-0 TIME 1700000000000 IDLE 200000 |
            6-0 IDLE 200000 TIME 1700000000000}
        XPENDING s g - + 10
        XCLAIM s g bob 0 {1-0 RETRYCOUNT 7 | 2-0 RETRYCOUNT 0 | 3-0 RETRYCOUNT -1 |
            4-0 RETRYCOUNT 9 JUSTID | 5-0 JUSTID}
        XCLAIM s g {bob 100000 6-0 JUSTID | carol -1 6-0 | carol 100000 6-0 1-0}
        XPENDING s g - + 10 ; XINFO STREAM s FULL
    """,
    "XCLAIM by force": """
        XADD s {1..3}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XADD s 4-0 f 1 ; XACK s g 1-0 ; XDEL s 2-0
        XCLAIM s g bob 0 1-0 2-0 3-0 4-0 5-0
        XCLAIM s g bob 0 1-0 2-0 4-0 5-0 FORCE
        XCLAIM s g bob 100000 4-0 FORCE
        XCLAIM s g carol 0 1-0 4-0 FORCE JUSTID RETRYCOUNT 3 TIME 1700000000000
        XPENDING s g - + 10 ; XINFO STREAM s FULL
    """,
    "XCLAIM moves the last ID forward only": """
        XADD s {1..5}-0 f 1
        XGROUP CREATE s g 2-0
        XCLAIM s g bob 0 9-9 LASTID 1-0 ; XINFO GROUPS s
        XCLAIM s g bob 0 9-9 LASTID 4-0 ; XINFO GROUPS s
        XCLAIM s g bob 0 9-9 LASTID 4 ; XREADGROUP GROUP g bob STREAMS s >
        XCLAIM s g bob 0 5-0 {LASTID - | LASTID x | LASTID}
        XINFO STREAM s FULL
    """,
    "XCLAIM's options and IDs": """
        XADD s {1..2}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XCLAIM s g bob 0 {x | 1-0 x | 1-0 - | JUSTID 1-0 | 1-0 FOO | 1-0 IDLE | 1-0 IDLE x |
            1-0 TIME x | 1-0 RETRYCOUNT x | 1-0 JUSTID 2-0 | 1-0 force justid | 2-0 2-0 2-0 | FORCE}
        XCLAIM s g bob {x | "" | 1.5 | 9223372036854775807} 1-0
        XCLAIM s nogroup bob x 1-0 ; XCLAIM missing g bob 0 1-0 ; XCLAIM s g bob 0
        XINFO STREAM s FULL
    """,
    "XAUTOCLAIM looks at ten times COUNT": """
        XADD s {1..25}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XCLAIM s g alice 0 11-0 22-0 IDLE 200000 JUSTID
        XAUTOCLAIM s g bob 100000 {0 COUNT 1 | 11-0 COUNT 1 JUSTID | 0 COUNT 2 | 21-0 COUNT 1 |
            24-0 COUNT 1}
        XAUTOCLAIM s g bob 0 {0 COUNT 24 JUSTID | 0 COUNT 25 JUSTID | (24-0 COUNT 25 |
            (25-0 COUNT 25}
    """,
    "XAUTOCLAIM finds deleted entries": """
        XADD s {1..8}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XDEL s 1-0 2-0 4-0 7-0
        XAUTOCLAIM s g bob 0 0 COUNT 2 ; XPENDING s g - + 10
        XAUTOCLAIM s g bob 0 3-0 COUNT 2 JUSTID
        XAUTOCLAIM s g bob 100000 0 COUNT 1 ; XAUTOCLAIM s g bob 100000 0
        XPENDING s g - + 10 ; XINFO STREAM s FULL
    """,
    "XAUTOCLAIM's options": """
        XADD s {1..3}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XAUTOCLAIM s g bob {0 - | 0 + | 0 x | 0 (1-0 | x 0 | -1 0 | 0 0 COUNT 0 | 0 0 COUNT -1 |
            0 0 COUNT x | 0 0 COUNT | 0 0 FOO | 0 0 JUSTID JUSTID | 0 0 COUNT 1 COUNT 2 |
            0 0 count 1 justid | 0 0 COUNT 9223372036854775807}
        XAUTOCLAIM s nogroup bob 0 0 ; XAUTOCLAIM missing g bob 0 0
        XINFO STREAM s FULL
    """,
    "entries delivered again": """
        XADD s {1..4}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XREADGROUP GROUP g alice STREAMS s 0
        XGROUP SETID s g 1-0 ; XREADGROUP GROUP g bob COUNT 2 STREAMS s > ; XPENDING s g - + 10
        XREADGROUP GROUP g alice NOACK STREAMS s > ; XPENDING s g - + 10
        XACK s g 2-0 2-0 3-0 9-0 ; XPENDING s g ; XINFO STREAM s FULL
    """,
    "deleting consumers and groups": """
        XADD s {1..4}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XCLAIM s g bob 0 2-0 3-0
        XGROUP DELCONSUMER s g {alice | alice | carol}
        XPENDING s g - + 10 ; XACK s g 1-0 2-0 ; XREADGROUP GROUP g alice STREAMS s 0
        XGROUP DESTROY s g ; XGROUP DESTROY s g ; XREADGROUP GROUP g alice STREAMS s 0
        XINFO GROUPS s ; XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XINFO STREAM s FULL
    """,
    "all IDs are read before anything is done": """
        XADD s {1..3}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XACK s g 1-0 x ; XDEL s 1-0 2-0 - ; XACK s g + ; XCLAIM s g bob 0 1-0 2-0 LASTID x
        XACK s nogroup x ; XACK missing g x ; XDEL missing x
        XINFO STREAM s FULL
    """,
}

STATE = {
    "XSETID": """
        XADD s {1..4}-0 f 1
        XDEL s 4-0
        XSETID s {2-0 | 4-0 | 4 | 9-0 | 5 | x | - | + | $ | *}
        XSETID s 9-0 ENTRIESADDED {2 | 3 | 4 | 0 | -1 | x | 9223372036854775807}
        XSETID s 9-0 MAXDELETEDID {0-0 | 9-0 | 9-1 | 1-0 | x | -}
        XSETID s {9-0 ENTRIESADDED 7 MAXDELETEDID 5-0 | 9-0 MAXDELETEDID 2-0 ENTRIESADDED 8 |
            4-0 MAXDELETEDID 5-0 | 9-0 ENTRIESADDED | 9-0 FOO 1}
        XSETID missing 1-0 ; XINFO STREAM s FULL
        XTRIM s MAXLEN 0 ; XSETID s {9-0 | 10-0 | 9-1}
        XADD s {9-1 | 9-2} f 1
        XINFO STREAM s FULL
    """,
    "XGROUP CREATE": """
        XGROUP CREATE s g {0 | $ | x | 0 MKSTREAM FOO | x MKSTREAM | - MKSTREAM}
        EXISTS s
        XGROUP CREATE s {g1 $ | g1 0 | g2 5 | g3 5-5 | g4 + | g5 >} MKSTREAM
        XGROUP CREATE s {h1 0 ENTRIESREAD 3 | h2 0 ENTRIESREAD -1 | h3 0 ENTRIESREAD -2 |
            h4 0 ENTRIESREAD x | h5 0 ENTRIESREAD | h6 0 MKSTREAM ENTRIESREAD 1 |
            h7 0 ENTRIESREAD 1 MKSTREAM | h8 | h9 0 mkstream entriesread 9223372036854775807}
        XINFO GROUPS s
        SET text x ; XGROUP CREATE text g 0 MKSTREAM
        XGROUP {DESTROY missing g | SETID missing g 0 | CREATECONSUMER missing g a |
            DELCONSUMER missing g a}
    """,
    "XGROUP SETID": """
        XADD s {1..4}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XGROUP SETID s g {0 | $ | 2-0 | - | + | x | 9-9 | 2-0 ENTRIESREAD 2 | 2-0 ENTRIESREAD -1 |
            2-0 ENTRIESREAD -2 | 2-0 ENTRIESREAD | 2-0 FOO 1 | 2-0 FOO}
        XGROUP SETID s nogroup 0 ; XINFO GROUPS s
        XREADGROUP GROUP g bob STREAMS s > ; XINFO STREAM s FULL
    """,
    "lag without deletions": """
        XGROUP CREATE s g $ MKSTREAM ; XINFO GROUPS s
        XADD s {1..5}-0 f 1
        XGROUP CREATE s {h 0 | i $ | j 3-0 | k 3-0 ENTRIESREAD 3}
        XINFO GROUPS s
        XREADGROUP GROUP {g | h | i | j | k} a COUNT 2 STREAMS s >
        XINFO GROUPS s ; XADD s 6-0 f 1 ; XINFO GROUPS s
        XREADGROUP GROUP {g | h | i | j | k} a NOACK STREAMS s >
        XINFO GROUPS s
    """,
    "XINFO STREAM FULL counts": """
        XADD s {1..12}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        XINFO STREAM s FULL
        XINFO STREAM s FULL COUNT {0 | 1 | 11 | -1 | x | ""}
        XINFO STREAM s {FOO | FULL FOO | FULL COUNT | FULL COUNT 1 2 | full count 1}
        XINFO {STREAM missing | GROUPS missing | CONSUMERS missing g | CONSUMERS s nogroup |
            CONSUMERS s | FOO s}
        XINFO
    """,
    "names are in order of their bytes": r"""
        XADD s {1..2}-0 f 1
        XGROUP CREATE s {b | B | a | ab | "" | "\xff" | 10 | 9} 0
        XREADGROUP GROUP a {b | B | "" | ba | 10 | 9} COUNT 1 STREAMS s 0
        XINFO GROUPS s ; XINFO CONSUMERS s a ; XINFO STREAM s FULL
    """,
    "a copy is a stream of its own": """
        XADD s {1..3}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s > ; XADD s 4-0 f 1
        COPY s t
        XACK s g 1-0 ; XDEL s 2-0 ; XADD t 5-0 f 1 ; XGROUP CREATE t h 0
        XREADGROUP GROUP g bob STREAMS t >
        XINFO STREAM {s | t} FULL
        COPY {s t | s t REPLACE | s s | s s DB 0 | s s DB 1 | s u DB 99 | s u DB x | missing u}
        XINFO STREAM t FULL
    """,
    "several streams at once": """
        XADD s {1..3}-0 f 1
        XADD t {1..2}-0 f 1
        XREAD STREAMS {s t 0 0 | s t 3 1 | missing s 0 0 | s t $ $}
        XREAD COUNT 1 STREAMS s t s 0 0 1
        SET text x ; XREAD STREAMS s text 0 0
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g a STREAMS s t > >
        XGROUP CREATE t g 1 ; XREADGROUP GROUP g a COUNT 1 STREAMS s t > >
        XREADGROUP GROUP g a STREAMS {s t s > 0 > | t s 0 > | s text > > | s t $ > | t s x >}
        XINFO STREAM s FULL
    """,
    "options in any order, names in any case": """
        XADD s {1..2}-0 f 1
        xread {streams s 0 | BLOCK 1 COUNT 1 streams s 0 | count 1 block 1 STREAMS s 0 |
            COUNT 1 COUNT 2 STREAMS s 0 | STREAMS | COUNT 1 STREAMS | COUNT STREAMS s 0 |
            FOO STREAMS s 0 | COUNT 1 s 0 | BLOCK -1 STREAMS s 0 | GROUP g a STREAMS s > |
            NOACK STREAMS s 0 | STREAMS s >}
        XGROUP create s g 0
        xreadgroup {group g a noack count 1 streams s > | STREAMS s > | COUNT 1 NOACK STREAMS s > |
            GROUP g STREAMS s > | GROUP g a COUNT 1 | GROUP g a FOO STREAMS s > |
            COUNT 1 GROUP g a STREAMS s >}
        Xinfo Stream s
        XGROUP {FOO s g | CREATE | SETID s g | CREATECONSUMER s g | DELCONSUMER s g a b | DESTROY s}
        XGROUP
    """,
    "text is no stream": """
        SET s text
        {XADD s * f 1 | XADD s 0-0 f 1 | XADD s x f 1 | XLEN s | XRANGE s - + | XREVRANGE s + - |
            XRANGE s x + | XDEL s 1-0 | XDEL s x | XTRIM s MAXLEN 1 | XSETID s 1-0 | XSETID s x |
            XREAD STREAMS s 0 | XREAD STREAMS s $ | XACK s g 1-0 | XACK s g x | XPENDING s g |
            XPENDING s g - + 1 | XCLAIM s g a 0 1-0 | XAUTOCLAIM s g a 0 0 | XINFO STREAM s |
            XINFO STREAM s FULL | XINFO GROUPS s | XINFO CONSUMERS s g | XGROUP CREATE s g 0 |
            XGROUP SETID s g 0 | XGROUP DESTROY s g | XGROUP CREATECONSUMER s g a |
            XGROUP DELCONSUMER s g a | XREADGROUP GROUP g a STREAMS s > | GET s}
    """,
    "a stream is no text": """
        XADD s 1-0 f 1
        {GET | INCR | STRLEN | GETDEL | GETEX} s
        {APPEND | GETSET | INCRBY | DECRBY | INCRBYFLOAT | SETNX} s 1
        GETRANGE s 0 1 ; SETRANGE s 0 x ; SET s x NX ; SET s x XX GET ; MGET s missing
        MSETNX s x u y ; XLEN s ; SET s x ; TYPE s
    """,
    "binary names and values": r"""
        XADD "\x00\r\n" 1-0 "\x00" "\r\n" "" "" "\xff" "\xfe"
        XRANGE "\x00\r\n" - +
        XGROUP CREATE "\x00\r\n" "g\r\n" 0
        XREADGROUP GROUP "g\r\n" "\x00a" STREAMS "\x00\r\n" >
        XPENDING "\x00\r\n" "g\r\n" ; XINFO STREAM "\x00\r\n" FULL
        XREADGROUP GROUP "no\r\ng" a STREAMS "\x00\r\n" >
        XCLAIM "k\r\n" g a 0 1-0 ; XINFO CONSUMERS "\x00\r\n" "a\nb" ; "un\x00known" a "b\x00c"
    """,
}

TRANSACTIONS = {
    "what fails a watched transaction": """
        XADD s {1..2}-0 f 1
        XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
        WATCH s ; {XADD s 9-* f 1 | XACK s g 1-0 | XDEL s 1-0 | XDEL s 1-0 | XTRIM s MAXLEN 99 |
            XTRIM s MAXLEN 1 | XSETID s 99-0 | XGROUP CREATE s h 0 | XGROUP SETID s h 0 |
            XGROUP CREATECONSUMER s h a | XREADGROUP GROUP h a STREAMS s > | XCLAIM s h b 0 9-0 |
            XAUTOCLAIM s h b 0 0 | XGROUP DELCONSUMER s h b | XGROUP DESTROY s h |
            EXPIRE s 100000 | PERSIST s | PERSIST s | TOUCH s | XLEN s | COPY s t | RENAME s u |
            RENAME u s | DEL missing | SET other x | FLUSHDB | XGROUP CREATE s g 0 MKSTREAM |
            MOVE s 1 | SWAPDB 0 1 | FLUSHALL | FLUSHALL | XADD s NOMKSTREAM 1-0 f 1 |
            XADD s 0-0 f 1 | XADD s MAXLEN 0 1-0 f 1 | DEL s} ; MULTI ; PING ; EXEC
    """,
    "unwatching": """
        WATCH s ; SET s 1 ; UNWATCH ; MULTI ; PING ; EXEC
        WATCH s ; SET s 1 ; MULTI ; DISCARD ; MULTI ; PING ; EXEC
        WATCH s ; SET s 1 ; EXEC ; MULTI ; PING ; EXEC ; MULTI ; PING ; EXEC
        WATCH ; UNWATCH now
    """,
    "errors in a transaction": """
        SET text x
        MULTI ; INCR text ; XADD text * f 1 ; SET text y ; EXEC ; GET text
        MULTI ; NOSUCH ; SET text z ; EXEC ; GET text
        MULTI ; GET ; EXEC
        MULTI ; MULTI ; WATCH s ; SET text w ; EXEC ; GET text
        MULTI now ; EXEC now ; DISCARD now ; EXEC ; DISCARD
        MULTI ; XGROUP FOO s ; EXEC
        MULTI ; XGROUP CREATE s ; EXEC
        MULTI ; EXEC
        MULTI ; SELECT 1 ; SET text db1 ; SELECT 0 ; EXEC ; GET text
    """,
    "nothing waits in a transaction": """
        XADD s 1-0 f 1 ; XGROUP CREATE s g $
        MULTI ; XREAD BLOCK 0 STREAMS s $ ; XREADGROUP GROUP g a BLOCK 0 STREAMS s >
        XADD s 2-0 f 1 ; XREAD BLOCK 0 STREAMS s 1
        XREADGROUP GROUP g a BLOCK 0 STREAMS s > ; EXEC
    """,
}

KEYS_AND_TEXT = {
    "times to live": """
        XADD s 1-0 f 1
        EXPIRE s {100000 | x | "" | | 1.5 | 9223372036854775807 | -9223372036854775808 |
            9223372036854775}
        PEXPIRE s {100000000 | 9223372036854775807 | x}
        EXPIREAT s {4102444800 | 9223372036854775807 | 9223372036854775}
        PEXPIREAT s {4102444800123 | 9223372036854775807}
        {PEXPIRETIME | EXPIRETIME | PTTL | TTL | PERSIST | PERSIST | TTL | PEXPIRETIME} s
        {PTTL | EXPIRETIME} missing ; EXPIRE missing 100
        EXPIREAT s {4102444800 NX | 4102444800 NX | 4102444801 XX | 4102444801 GT |
            4102444802 GT | 4102444802 LT | 4102444800 LT | 4102444801 XX GT | 1 GT | 1 NX}
        EXPIREAT s 4102444800 {NX XX | GT LT | NX GT | NX LT | FOO | XX FOO | XX XX}
        PERSIST s
        EXPIREAT s 4102444800 {XX | GT | LT}
        EXPIRETIME s
        {EXPIRE s 0 | EXPIREAT s 1 | PEXPIRE s -1 | PEXPIREAT s 0} ; EXISTS s ; XADD s 1-0 f 1
    """,
    "what happens to a time to live": """
        SET text x EX 100000 ; APPEND text y ; TTL text ; SET text z ; TTL text
        SET text x PX 100000000 ; SET text y KEEPTTL ; PTTL text ; GETSET text z ; TTL text
        SET text 1 EX 100000 ; INCR text ; TTL text ; RENAME text u ; TTL u ; COPY u v ; TTL v
        SET w x ; RENAME w u ; TTL u ; PERSIST v ; TTL v ; GETEX v EX 100000 ; TTL v
        GETEX v PERSIST ; TTL v ; GETEX v EXAT 1 ; EXISTS v ; SET v 1 EXAT 1 ; EXISTS v
        SET v 1 PXAT 1 GET ; GET v
    """,
    "options of SET": """
        SET text {1 NX | 2 NX | 3 XX | 4 XX GET | 5 NX GET | 6 NX XX | 7 GET GET | 8 EX 0 |
            8 EX -1 | 8 EX x | 8 EX | 8 PX 0 | 8 EXAT 0 | 8 PXAT -1 | 8 FOO |
            8 EX 100000 PX 100000 | 8 KEEPTTL EX 100000 | 8 EX 9223372036854775807 |
            8 EX 9223372036854775 | 8 PX 9223372036854775807 | 9 get ex 100000 xx}
        SET missing {1 XX | 1 XX GET | 1 NX GET}
        GET text ; TTL text ; GET missing
        SETEX text {0 x | -1 x | x x | 9223372036854775807 x | 100000 y}
        PSETEX text {0 x | -1 x | x x | 9223372036854775807 x | 100000000 y}
        GETEX text {EX 0 | EX x | FOO | PERSIST EX 1 | EX | PX -1 | persist}
        GETEX missing EX 0 ; GETEX missing FOO
    """,
    "numbers": """
        INCRBY count {10 | -3 | 9223372036854775807 | 9223372036854775800 | x | "" | 1.5 | " 1" |
            "1 " | +1 | 01 | -0}
        DECRBY count {5 | -9223372036854775808 | 9223372036854775807 | x}
        SET count -9223372036854775808 ; DECR count ; INCR count
        SET count 9223372036854775807 ; INCR count
        SET count {x | " 1" | "1 " | 01 | +1 | -0 | 1.0 | 1e3 | "" | 0x10 | inf | nan} ; INCR count
            ; INCRBYFLOAT count 1 ; GET count
    """,
    "floating point numbers": """
        SET count {0.1 ; INCRBYFLOAT count 0.2 | 3.0 ; INCRBYFLOAT count 1.5e2 |
            5.0e3 ; INCRBYFLOAT count 200 | 1e20 ; INCRBYFLOAT count 1 |
            1 ; INCRBYFLOAT count -1 | 0 ; INCRBYFLOAT count -0.0 |
            10.5 ; INCRBYFLOAT count 0.1 | 1e-10 ; INCRBYFLOAT count 0 |
            123456789.123456789 ; INCRBYFLOAT count 0.000000001 |
            1e17 ; INCRBYFLOAT count 0.5 | 9223372036854775807 ; INCRBYFLOAT count 1 |
            1e308 ; INCRBYFLOAT count 1e308 | 1 ; INCRBYFLOAT count 1e400 |
            1 ; INCRBYFLOAT count inf | 1 ; INCRBYFLOAT count nan | 3 ; INCRBYFLOAT count x |
            3 ; INCRBYFLOAT count " 1" | 3 ; INCRBYFLOAT count 1.1.1 |
            0.3 ; INCRBYFLOAT count -0.1 | 100 ; INCRBYFLOAT count 1e-20 |
            2.5e0 ; INCRBYFLOAT count 0} ; GET count
        DEL count ; INCRBYFLOAT count 3.14 ; OBJECT ENCODING count
    """,
    "parts of texts": """
        SET text "Hello, world"
        GETRANGE text {0 4 | 0 -1 | -5 -1 | -5 3 | 5 3 | -100 100 | 100 200 | 0 0 | -1 -5 | x 1 |
            9223372036854775807 1 | -9223372036854775808 -1}
        SETRANGE text {7 Redis | 0 "" | 20 x | -1 x | x y | 536870912 x | 536870911 xx}
        GET text ; STRLEN text ; SETRANGE missing 3 "" ; EXISTS missing ; SETRANGE missing 3 x
        GET missing ; GETRANGE nothing 0 -1 ; STRLEN nothing ; APPEND nothing ""
        EXISTS nothing ; TYPE nothing
    """,
    "encodings of texts": f"""
        SET text {{1 | -1 | 9223372036854775807 | 9223372036854775808 | 01 | 10000 | 9999 | "" | x |
            {"x" * 44} | {"x" * 45} | 1.5 | 99999999999999999999 | -0}} ; OBJECT ENCODING text
            ; OBJECT REFCOUNT text ; APPEND text 1 ; OBJECT ENCODING text
        SET text 1 ; SETRANGE text 0 2 ; OBJECT ENCODING text
        SET text 1 ; INCR text ; OBJECT ENCODING text
        SET text 12345 ; GETRANGE text 0 1 ; OBJECT ENCODING text
        SET text abc ; SETRANGE text 1 x ; OBJECT ENCODING text
        GETSET text 7 ; OBJECT ENCODING text ; MSET text 8 u x ; OBJECT ENCODING text
        OBJECT {{ENCODING | REFCOUNT | IDLETIME | FREQ}} missing
        OBJECT {{FREQ text | FOO text | ENCODING | ENCODING a b}}
    """,
    "renaming and moving": """
        XADD s 1-0 f 1 ; SET text x
        RENAME s s ; RENAMENX s s ; RENAME missing x ; RENAMENX missing x ; RENAMENX s text
        RENAME text s ; TYPE s
        MOVE s {0 | 16 | -1 | x | 1} ; MOVE missing 1 ; SET s y ; MOVE s 1
        SELECT 1 ; GET s ; SELECT {16 | -1 | x | 0}
        SWAPDB {0 1 | 0 0 | 0 16 | x 1 | 0 x} ; GET s
        COPY s t {DB 1 | DB 1 | DB 1 REPLACE | FOO | DB | REPLACE REPLACE}
        DEL s s ; DEL s ; UNLINK t u ; EXISTS t t ; TOUCH t t missing ; DBSIZE
        {FLUSHDB FOO | FLUSHALL FOO | FLUSHDB ASYNC | FLUSHALL SYNC | FLUSHALL ASYNC SYNC}
        DBSIZE ; RANDOMKEY
    """,
    "finding keys": r"""
        XADD s 1-0 f 1 ; SET text x ; MSET text1 x text2 x "a*b" x "a[b" x "a\\b" x
        KEYS {* | text* | text? | text[12] | text[^1] | text[0-1] | "a\\*b" | "a[[]b" | "a[*]b" |
            "" | "a\\\\b" | text[ | [a- | ** | t*t*2 | "*[*" | text[2-1]}
        SCAN 0 COUNT 1000 {MATCH text* | TYPE stream | TYPE string | TYPE hash | TYPE foo |
            MATCH s TYPE stream | FOO | MATCH | COUNT 0 | COUNT x |}
        SCAN {x | 1.5 | 18446744073709551616 | -18446744073709551616 | "1 " | 0x1}
        TYPE {s | text | missing}
    """,
    "several texts": """
        MSET a 1 b 2 a 3 ; MGET a b missing a ; MSET a ; MSET a 1 b ; MSETNX a 1 c 2 ; EXISTS c
        MSETNX c 1 d 2 c 3 ; MGET c d ; MSETNX e ; GETDEL c ; GETDEL c ; SETNX c 1 ; SETNX c 2
        GETSET c 3 ; GETSET e 1 ; APPEND e 2 ; APPEND f 2 ; MGET c d e f
    """,
}

HYPERLOGLOGS = {
    "a HyperLogLog that is damaged after the register that changes": """
        PFADD hll ; SETRANGE hll 18 @ ; PFADD hll "element 0" ; PFCOUNT hll ; PFMERGE hll2 hll
        PFADD hll3 a b c ; SETRANGE hll3 18 {@@ | "\\xff" | "\\x00"} ; PFADD hll3 a
        ; PFCOUNT hll3 ; GET hll3
    """,
}

EDGES = {
    **HYPERLOGLOGS,
    **ENTRY_IDS,
    **TRIMMING,
    **DELETIONS,
    **PENDING,
    **STATE,
    **TRANSACTIONS,
    **KEYS_AND_TEXT,
    **odd_id_scripts(),
    "numbers as texts": """
        ZADD z 1 a 16 b 0.5 c
        ZCOUNT z {0x1 | (0x1 | " 1" | "( 1" | +1 | (+1 | 1. | .5 | 1e1 | 1e400 | 1e-400 | nan} 100
        ZCOUNT z {inf | -infinity | INF | (inf | 1_0 | "1 " | 0x1p3 | - | (- | 1e+ | 1e+1 | ""} 100
        RPUSH l 1 {0x1 | "-0x2" | " 3" | "3 " | 1e400 | 1e-400} ; SORT l ; DEL l
        RPUSH l 1 {nan | +1 | "" | .5 | inf} ; SORT l ; DEL l
        GEOADD g 0.0001 0.0001 near -0.0001 -0.0001 west 179.5 85 far 0 0 zero
        GEOPOS g near west far zero
        GEOSEARCH g FROMLONLAT 0 0 BYRADIUS 100 km ASC WITHCOORD
        EVAL "return redis.set_repl()" 0
    """,
}
