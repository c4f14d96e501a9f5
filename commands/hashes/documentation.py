"""Documentation of the commands of hashes (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "hash"
SINCE = "2.0.0"

_FIELDS = "FIELDS numfields field [field ...]"
_PER_FIELD = "O(N) with N the number of fields that are named."
_TIMES = "EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds"

ROWS = {
    "HDEL": Row(
        "Removes fields of a hash, and the hash with the last of them.",
        "key field [field ...]",
        complexity="O(N) with N the number of fields that are removed.",
        history=[("2.4.0", "Accepts multiple `field` arguments.")],
    ),
    "HEXISTS": Row("Tests for a field.", "key field"),
    "HEXPIRE": Row(
        "Lets fields expire after some seconds.",
        f"key seconds [NX | XX | GT | LT] {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HEXPIREAT": Row(
        "Lets fields expire at a Unix time in seconds.",
        f"key unix-time-seconds [NX | XX | GT | LT] {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HEXPIRETIME": Row(
        "Returns the Unix times in seconds at which fields expire.",
        f"key {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HGET": Row("Returns the value of a field.", "key field"),
    "HGETALL": Row(
        "Returns all fields and values.",
        "key",
        complexity="O(N) with N the number of fields.",
        tips=["nondeterministic_output_order"],
    ),
    "HGETDEL": Row(
        "Returns the values of fields and removes them.",
        "key FIELDS numfields field [field ...]",
        complexity=_PER_FIELD,
        since="8.0.0",
    ),
    "HGETEX": Row(
        "Returns the values of fields, and sets or removes their expiry.",
        f"key [{_TIMES} | PERSIST] FIELDS numfields field [field ...]",
        complexity=_PER_FIELD,
        since="8.0.0",
    ),
    "HIMPORT": Row("Sets hashes with the same fields.", since="8.10.0"),
    "HIMPORT DISCARD": Row("Removes a fieldset of this connection.", "fieldset-name"),
    "HIMPORT DISCARDALL": Row("Removes all fieldsets of this connection."),
    "HIMPORT HELP": Row("Lists the sub-commands of HIMPORT."),
    "HIMPORT PREPARE": Row(
        "Names the fields of hashes that this connection is going to set.",
        "fieldset-name field [field ...]",
        complexity="O(N) with N the number of fields.",
    ),
    "HIMPORT SET": Row(
        "Sets a hash that has the fields of a fieldset.",
        "key fieldset-name value [value ...]",
        complexity="O(N) with N the number of fields.",
    ),
    "HINCRBY": Row("Adds a number to the integer in a field.", "key field increment"),
    "HINCRBYFLOAT": Row(
        "Adds a number to the floating-point number in a field.",
        "key field increment",
        since="2.6.0",
    ),
    "HKEYS": Row(
        "Returns all fields.",
        "key",
        complexity="O(N) with N the number of fields.",
        tips=["nondeterministic_output_order"],
    ),
    "HLEN": Row("Counts the fields of a hash.", "key"),
    "HMGET": Row(
        "Returns the values of fields.",
        "key field [field ...]",
        complexity="O(N) with N the number of fields that are asked for.",
    ),
    "HMSET": Row(
        "Sets fields of a hash.",
        "key field value [field value ...]",
        complexity="O(N) with N the number of fields that are set.",
        deprecated=("4.0.0", "`HSET` with multiple field-value pairs"),
    ),
    "HPERSIST": Row(
        "Removes the time to live of fields.",
        f"key {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HPEXPIRE": Row(
        "Lets fields expire after some milliseconds.",
        f"key milliseconds [NX | XX | GT | LT] {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HPEXPIREAT": Row(
        "Lets fields expire at a Unix time in milliseconds.",
        f"key unix-time-milliseconds [NX | XX | GT | LT] {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HPEXPIRETIME": Row(
        "Returns the Unix times in milliseconds at which fields expire.",
        f"key {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
    ),
    "HPTTL": Row(
        "Returns how many milliseconds fields have left.",
        f"key {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
        tips=["nondeterministic_output"],
    ),
    "HRANDFIELD": Row(
        "Returns fields chosen at random.",
        "key [count [WITHVALUES]]",
        complexity="O(N) with N the number of fields returned.",
        since="6.2.0",
        tips=["nondeterministic_output"],
    ),
    "HSCAN": Row(
        "Iterates over the fields of a hash, a few with each call.",
        "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
        complexity="O(1) for a call, O(N) for the whole walk, with N the number of fields.",
        since="2.8.0",
        tips=["nondeterministic_output"],
    ),
    "HSET": Row(
        "Sets fields of a hash.",
        "key field value [field value ...]",
        complexity="O(N) with N the number of fields that are set.",
        history=[("4.0.0", "Accepts multiple `field` and `value` arguments.")],
    ),
    "HSETEX": Row(
        "Sets fields of a hash with a time at which they expire.",
        f"key [FNX | FXX] [{_TIMES} | KEEPTTL] FIELDS numfields field value [field value ...]",
        complexity=_PER_FIELD,
        since="8.0.0",
    ),
    "HSETNX": Row("Sets a field of a hash unless it is there.", "key field value"),
    "HSTRLEN": Row("Returns the length of the value of a field.", "key field", since="3.2.0"),
    "HTTL": Row(
        "Returns how many seconds fields have left.",
        f"key {_FIELDS}",
        complexity=_PER_FIELD,
        since="7.4.0",
        tips=["nondeterministic_output"],
    ),
    "HVALS": Row(
        "Returns all values.",
        "key",
        complexity="O(N) with N the number of fields.",
        tips=["nondeterministic_output_order"],
    ),
}
