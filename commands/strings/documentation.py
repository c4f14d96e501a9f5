"""Documentation of the commands of strings (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "string"
SINCE = "1.0.0"

_CONDITIONS = "IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest"
_TIMES = "EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds"

ROWS = {
    "APPEND": Row(
        "Appends bytes to the string at a key, which is created if there is none.",
        "key value",
        complexity="O(1) on average, with short values.",
        since="2.0.0",
    ),
    "DECR": Row("Subtracts one from the integer at a key.", "key"),
    "DECRBY": Row("Subtracts a number from the integer at a key.", "key decrement"),
    "DELEX": Row(
        "Removes a key if its string meets a condition.",
        f"key [{_CONDITIONS}]",
        complexity="O(1), with a digest O(N) with N the length of the string.",
        since="8.4.0",
    ),
    "DIGEST": Row(
        "Returns the digest of the string at a key.",
        "key",
        complexity="O(N) with N the length of the string.",
        since="8.4.0",
    ),
    "GET": Row("Returns the string at a key.", "key"),
    "GETDEL": Row("Returns the string at a key and removes the key.", "key", since="6.2.0"),
    "GETEX": Row(
        "Returns the string at a key and changes when it expires.",
        f"key [{_TIMES} | PERSIST]",
        since="6.2.0",
    ),
    "GETRANGE": Row(
        "Returns a part of the string at a key.",
        "key start end",
        complexity="O(N) with N the length of the part.",
        since="2.4.0",
    ),
    "GETSET": Row(
        "Sets a key to a string and returns the one before.",
        "key value",
        deprecated=("6.2.0", "`SET` with the `!GET` argument"),
    ),
    "INCR": Row("Adds one to the integer at a key.", "key"),
    "INCRBY": Row("Adds a number to the integer at a key.", "key increment"),
    "INCRBYFLOAT": Row(
        "Adds a number to the floating-point number at a key.",
        "key increment",
        since="2.6.0",
    ),
    "INCREX": Row(
        "Adds to the number at a key, within bounds, and sets its time to live.",
        (
            "key [BYFLOAT float | BYINT integer] [LBOUND lowerbound] [UBOUND upperbound]"
            f" [SATURATE] [{_TIMES} | PERSIST] [ENX]"
        ),
        since="8.8.0",
    ),
    "LCS": Row(
        "Finds the longest common subsequence of two strings.",
        "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
        complexity="O(N*M) with N and M the lengths of the strings.",
        since="7.0.0",
    ),
    "MGET": Row(
        "Returns the strings at several keys.",
        "key [key ...]",
        complexity="O(N) with N the number of keys.",
        tips=["request_policy:multi_shard"],
    ),
    "MSET": Row(
        "Sets several keys to strings.",
        "key value [key value ...]",
        complexity="O(N) with N the number of keys.",
        since="1.0.1",
        tips=["request_policy:multi_shard", "response_policy:all_succeeded"],
    ),
    "MSETEX": Row(
        "Sets several keys to strings with a time to live, if all or none of them exist.",
        f"numkeys key value [key value ...] [NX | XX] [{_TIMES} | KEEPTTL]",
        complexity="O(N) with N the number of keys.",
        since="8.4.0",
        tips=["request_policy:multi_shard", "response_policy:agg_min"],
    ),
    "MSETNX": Row(
        "Sets several keys to strings, unless one of the keys exists.",
        "key value [key value ...]",
        complexity="O(N) with N the number of keys.",
        since="1.0.1",
        tips=["request_policy:multi_shard", "response_policy:agg_min"],
    ),
    "PSETEX": Row(
        "Sets a key to a string that expires after some milliseconds.",
        "key milliseconds value",
        since="2.6.0",
        deprecated=("2.6.12", "`SET` with the `PX` argument"),
    ),
    "SET": Row(
        "Sets a key to a string.",
        f"key value [NX | XX | {_CONDITIONS}] [GET] [{_TIMES} | KEEPTTL]",
        history=[
            ("2.6.12", "Added the options `EX`, `PX`, `NX` and `XX`."),
            ("6.0.0", "Added the option `KEEPTTL`."),
            ("6.2.0", "Added the options `GET`, `EXAT` and `PXAT`."),
            ("7.0.0", "Allowed `NX` and `GET` together."),
            ("8.4.0", "Added the options `IFEQ`, `IFNE`, `IFDEQ` and `IFDNE`."),
        ],
    ),
    "SETEX": Row(
        "Sets a key to a string that expires after some seconds.",
        "key seconds value",
        since="2.0.0",
        deprecated=("2.6.12", "`SET` with the `EX` argument"),
    ),
    "SETNX": Row(
        "Sets a key to a string, unless the key exists.",
        "key value",
        deprecated=("2.6.12", "`SET` with the `NX` argument"),
    ),
    "SETRANGE": Row(
        "Overwrites a part of the string at a key, which is created if there is none.",
        "key offset value",
        complexity="O(N) with N the length of the value, and of the gap before it if there is one.",
        since="2.2.0",
    ),
    "STRLEN": Row("Returns the length of the string at a key.", "key", since="2.2.0"),
    "SUBSTR": Row(
        "Returns a part of the string at a key; the old name of GETRANGE.",
        "key start end",
        complexity="O(N) with N the length of the part.",
        deprecated=("2.0.0", "`GETRANGE`"),
    ),
}
