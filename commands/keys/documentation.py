"""Documentation of the commands of keys and databases (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "generic"
SINCE = "1.0.0"

_ALL_SHARDS = ["request_policy:all_shards", "response_policy:all_succeeded"]
_CONDITIONS = "[NX | XX | GT | LT]"
_FLUSH_HISTORY = [("4.0.0", "Added the mode `ASYNC`."), ("6.2.0", "Added the mode `SYNC`.")]
_PER_SORT = "O(N+M*log(M)) with N the length of the list or set and M the number returned."
_SORTED = (
    "key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC]"
    " [ALPHA]"
)
_SUM_OF_SHARDS = ["request_policy:multi_shard", "response_policy:agg_sum"]

ROWS = {
    "COPY": Row(
        "Copies a key's value to another key.",
        "source destination [DB destination-db] [REPLACE]",
        complexity="O(N) with N the number of entries and pending entries of a stream.",
        since="6.2.0",
    ),
    "DBSIZE": Row(
        "Counts the keys of the database.",
        group="server",
        tips=["request_policy:all_shards", "response_policy:agg_sum"],
        categories=["keyspace"],
    ),
    "DEL": Row(
        "Removes keys.",
        "key [key ...]",
        complexity="O(N) with N the number of keys, and for a stream the number of its nodes.",
        tips=_SUM_OF_SHARDS,
    ),
    "DUMP": Row(
        "Returns a key's value in a form that RESTORE takes.",
        "key",
        complexity="O(N) with N the size of the value.",
        since="2.6.0",
        tips=["nondeterministic_output"],
    ),
    "EXISTS": Row(
        "Counts the given keys that exist.",
        "key [key ...]",
        complexity="O(N) with N the number of keys.",
        history=[("3.0.3", "Accepts several `key` arguments.")],
        tips=_SUM_OF_SHARDS,
    ),
    "EXPIRE": Row(
        "Lets a key expire after some seconds.",
        f"key seconds {_CONDITIONS}",
        history=[("7.0.0", "Added the options `NX`, `XX`, `GT` and `LT`.")],
    ),
    "EXPIREAT": Row(
        "Lets a key expire at a Unix time in seconds.",
        f"key unix-time-seconds {_CONDITIONS}",
        since="1.2.0",
        history=[("7.0.0", "Added the options `NX`, `XX`, `GT` and `LT`.")],
    ),
    "EXPIRETIME": Row(
        "Returns the Unix time in seconds at which a key expires.",
        "key",
        since="7.0.0",
    ),
    "FLUSHALL": Row(
        "Removes all keys of all databases.",
        "[ASYNC | SYNC]",
        complexity="O(N) with N the number of keys in all databases.",
        group="server",
        history=_FLUSH_HISTORY,
        tips=_ALL_SHARDS,
        categories=["keyspace", "dangerous"],
    ),
    "FLUSHDB": Row(
        "Removes all keys of the database.",
        "[ASYNC | SYNC]",
        complexity="O(N) with N the number of keys in the database.",
        group="server",
        history=_FLUSH_HISTORY,
        tips=_ALL_SHARDS,
        categories=["keyspace", "dangerous"],
    ),
    "KEYS": Row(
        "Lists the keys that match a pattern.",
        "pattern",
        complexity="O(N) with N the number of keys in the database.",
        tips=["request_policy:all_shards", "nondeterministic_output_order"],
        categories=["dangerous"],
    ),
    "MIGRATE": Row(
        "Moves keys to another server.",
        'host port <key | ""> destination-db timeout [COPY] [REPLACE] [AUTH password]'
        " [AUTH2 username password] [KEYS key [key ...]]",
        complexity="O(N) with N the size of the values.",
        since="2.6.0",
        history=[
            ("3.0.0", "Added the options `COPY` and `REPLACE`."),
            ("3.0.6", "Added the option `KEYS`."),
            ("4.0.7", "Added the option `AUTH`."),
            ("6.0.0", "Added the option `AUTH2`."),
        ],
        tips=["nondeterministic_output"],
        categories=["dangerous"],
    ),
    "MOVE": Row("Moves a key to another database.", "key db"),
    "OBJECT": Row("Describes how a key's value is stored.", since="2.2.3"),
    "OBJECT ENCODING": Row(
        "Returns the encoding of a value.",
        "key",
        tips=["nondeterministic_output"],
    ),
    "OBJECT FREQ": Row(
        "Returns the access frequency of a value under an LFU policy.",
        "key",
        since="4.0.0",
        tips=["nondeterministic_output"],
    ),
    "OBJECT HELP": Row("Lists the sub-commands of OBJECT.", since="6.2.0"),
    "OBJECT IDLETIME": Row(
        "Returns the seconds since a value was last used.",
        "key",
        tips=["nondeterministic_output"],
    ),
    "OBJECT REFCOUNT": Row(
        "Counts the references to a value.",
        "key",
        tips=["nondeterministic_output"],
    ),
    "PERSIST": Row("Removes a key's time to live.", "key", since="2.2.0"),
    "PEXPIRE": Row(
        "Lets a key expire after some milliseconds.",
        f"key milliseconds {_CONDITIONS}",
        since="2.6.0",
        history=[("7.0.0", "Added the options `NX`, `XX`, `GT` and `LT`.")],
    ),
    "PEXPIREAT": Row(
        "Lets a key expire at a Unix time in milliseconds.",
        f"key unix-time-milliseconds {_CONDITIONS}",
        since="2.6.0",
        history=[("7.0.0", "Added the options `NX`, `XX`, `GT` and `LT`.")],
    ),
    "PEXPIRETIME": Row(
        "Returns the Unix time in milliseconds at which a key expires.",
        "key",
        since="7.0.0",
    ),
    "PTTL": Row(
        "Returns the time to live of a key in milliseconds.",
        "key",
        since="2.6.0",
        history=[("2.8.0", "Added the reply -2.")],
        tips=["nondeterministic_output"],
    ),
    "RANDOMKEY": Row(
        "Returns a key chosen at random.",
        tips=["request_policy:all_shards", "response_policy:special", "nondeterministic_output"],
    ),
    "RENAME": Row("Renames a key; a key of the new name is overwritten.", "key newkey"),
    "RENAMENX": Row(
        "Renames a key, unless the new name is taken.",
        "key newkey",
        history=[("3.2.0", "Two equal names are no error any more.")],
    ),
    "RESTORE": Row(
        "Creates a key from a value that DUMP returned.",
        "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        complexity="O(N) with N the size of the value.",
        since="2.6.0",
        history=[
            ("3.0.0", "Added the option `REPLACE`."),
            ("5.0.0", "Added the option `ABSTTL`."),
            ("5.0.0", "Added the options `IDLETIME` and `FREQ`."),
        ],
        categories=["dangerous"],
    ),
    "RESTORE-ASKING": Row(
        "Creates a key in a slot that is being imported.",
        "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        complexity="O(N) with N the size of the value.",
        since="3.0.0",
        group="server",
        history=[
            ("3.0.0", "Added the option `REPLACE`."),
            ("5.0.0", "Added the option `ABSTTL`."),
            ("5.0.0", "Added the options `IDLETIME` and `FREQ`."),
        ],
        categories=["keyspace", "dangerous"],
    ),
    "SCAN": Row(
        "Iterates over the keys, a few with each call.",
        "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        complexity="O(1) for a call, O(N) for the whole walk, with N the number of keys.",
        since="2.8.0",
        history=[("6.0.0", "Added the `TYPE` option.")],
        tips=["nondeterministic_output", "request_policy:special", "response_policy:special"],
    ),
    "SORT": Row(
        "Sorts the elements of a list, a set or a sorted set; may store the result.",
        f"{_SORTED} [STORE destination]",
        complexity=_PER_SORT,
        categories=["set", "sortedset", "list", "dangerous"],
    ),
    "SORT_RO": Row(
        "Returns the elements of a list, a set or a sorted set, sorted.",
        _SORTED,
        complexity=_PER_SORT,
        since="7.0.0",
        categories=["set", "sortedset", "list", "dangerous"],
    ),
    "SWAPDB": Row(
        "Exchanges the keys of two databases.",
        "index1 index2",
        complexity="O(N) with N the number of clients that watch or wait for keys of the two.",
        since="4.0.0",
        group="server",
        categories=["keyspace", "dangerous"],
    ),
    "TOUCH": Row(
        "Marks keys as used just now and counts those that exist.",
        "key [key ...]",
        complexity="O(N) with N the number of keys.",
        since="3.2.1",
        tips=_SUM_OF_SHARDS,
    ),
    "TTL": Row(
        "Returns the time to live of a key in seconds.",
        "key",
        history=[("2.8.0", "Added the reply -2.")],
        tips=["nondeterministic_output"],
    ),
    "TYPE": Row("Returns the type of a key's value.", "key"),
    "UNLINK": Row(
        "Removes keys, as DEL does.",
        "key [key ...]",
        complexity="O(N) with N the number of keys, and for a stream the number of its nodes.",
        since="4.0.0",
        tips=_SUM_OF_SHARDS,
    ),
}
