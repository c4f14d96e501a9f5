"""Documentation of the commands of streams (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "stream"
SINCE = "5.0.0"

ROWS = {
    "XACK": Row(
        "Acknowledges entries: they are no longer pending in the group.",
        "key group id [id ...]",
        complexity="O(1) for each ID.",
    ),
    "XACKDEL": Row(
        "Acknowledges entries and removes them from the stream.",
        "key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        complexity="O(1) for each entry and each group.",
        since="8.2.0",
    ),
    "XADD": Row(
        "Appends an entry to a stream, which is created if there is none.",
        (
            "key [NOMKSTREAM] [KEEPREF | DELREF | ACKED]"
            " [IDMPAUTO producer-id | IDMP producer-id idempotent-id]"
            " [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value"
            " [field value ...]"
        ),
        complexity="O(1) to append; O(N) to trim, with N the number of removed entries.",
        history=[
            ("6.2.0", "Added `NOMKSTREAM`, the `MINID` strategy and the `LIMIT` option."),
            ("7.0.0", "Added the ID form `<ms>-*`."),
            ("8.2.0", "Added the options `KEEPREF`, `DELREF` and `ACKED`."),
            ("8.6.0", "Added the options `IDMP` and `IDMPAUTO`."),
        ],
        tips=["nondeterministic_output"],
    ),
    "XAUTOCLAIM": Row(
        "Makes a consumer the owner of entries that have been pending for long.",
        "key group consumer min-idle-time start [COUNT count] [JUSTID]",
        complexity="O(1) if COUNT is small.",
        since="6.2.0",
        history=[("7.0.0", "Added the list of entries that were found deleted to the reply.")],
        tips=["nondeterministic_output"],
    ),
    "XCFGSET": Row(
        "Sets what a stream remembers of its producers, and where acknowledgements go.",
        (
            "key [IDMP-DURATION duration] [IDMP-MAXSIZE maxsize] [ACK-JOURNAL journal]"
            " [ACK-JOURNAL-MAXLEN maxlen]"
        ),
        complexity="O(N) with N the number of idempotent IDs that are forgotten.",
        since="8.6.0",
    ),
    "XCLAIM": Row(
        "Makes a consumer the owner of pending entries.",
        (
            "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds]"
            " [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]"
        ),
        complexity="O(log N) for each ID, with N the number of pending entries.",
        tips=["nondeterministic_output"],
    ),
    "XDEL": Row(
        "Removes entries from a stream; those that are pending stay pending.",
        "key id [id ...]",
        complexity="O(1) for each entry.",
    ),
    "XDELEX": Row(
        "Removes entries from a stream, and what groups know of them if asked to.",
        "key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        complexity="O(1) for each entry and each group.",
        since="8.2.0",
    ),
    "XGROUP": Row("Manages the groups of a stream."),
    "XGROUP CREATE": Row(
        "Creates a group.",
        "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
        history=[("7.0.0", "Added the `entries_read` named argument.")],
    ),
    "XGROUP CREATECONSUMER": Row(
        "Creates a consumer in a group.",
        "key group consumer",
        since="6.2.0",
    ),
    "XGROUP DELCONSUMER": Row(
        "Removes a consumer from a group, and what is pending for it.",
        "key group consumer",
        complexity="O(N) with N the number of pending entries of the consumer.",
    ),
    "XGROUP DESTROY": Row(
        "Removes a group.",
        "key group",
        complexity="O(N) with N the number of pending entries of the group.",
    ),
    "XGROUP HELP": Row("Explains the sub-commands."),
    "XGROUP SETID": Row(
        "Sets the last delivered ID of a group.",
        "key group <id | $> [ENTRIESREAD entries-read]",
        history=[("7.0.0", "Added the optional `entries_read` argument.")],
    ),
    "XIDMPRECORD": Row(
        "Notes which entry a producer's idempotent ID made (internal).",
        "key producer-id idempotent-id id",
        since="8.6.2",
    ),
    "XINFO": Row("Describes a stream and its groups."),
    "XINFO CONSUMERS": Row(
        "Lists the consumers of a group.",
        "key group",
        history=[("7.2.0", "Added the `inactive` field, and changed the meaning of `idle`.")],
        tips=["nondeterministic_output"],
    ),
    "XINFO GROUPS": Row(
        "Lists the groups of a stream.",
        "key",
        history=[("7.0.0", "Added the `entries-read` and `lag` fields.")],
    ),
    "XINFO HELP": Row("Explains the sub-commands."),
    "XINFO POLICY": Row(
        "Describes what a stream does that no Redis does (Rillway's own).",
        "key",
        since="8.10.0",
    ),
    "XINFO STREAM": Row(
        "Describes a stream.",
        "key [FULL [COUNT count]]",
        history=[
            ("6.0.0", "Added the `FULL` modifier."),
            ("7.0.0", "Added the fields `entries-added`, `entries-read`, `lag` and three more."),
            ("7.2.0", "Added the `active-time` field, and changed the meaning of `seen-time`."),
            ("8.6.0", "Added the fields `idmp-duration`, `idmp-maxsize` and four more."),
            ("8.8.0", "Added the `nacked-count` field."),
        ],
    ),
    "XLEN": Row("Returns the number of entries in a stream.", "key"),
    "XNACK": Row(
        "Gives pending entries back to the group, for anyone to claim at once.",
        "key group <SILENT | FAIL | FATAL> IDS numids id [id ...] [RETRYCOUNT retry-count] [FORCE]",
        complexity="O(1) for each ID.",
        since="8.8.0",
    ),
    "XPENDING": Row(
        "Returns a summary or a list of the entries that are pending in a group.",
        "key group [[IDLE min-idle-time] start end count [consumer]]",
        complexity="O(N) with N the entries looked at; the summary: the number of consumers.",
        history=[("6.2.0", "Added the `IDLE` option and exclusive ranges.")],
        tips=["nondeterministic_output"],
    ),
    "XRANGE": Row(
        "Returns the entries within a range of IDs.",
        "key start end [COUNT count]",
        complexity="O(N) with N the number of entries returned.",
        history=[("6.2.0", "Added exclusive ranges.")],
    ),
    "XREAD": Row(
        "Returns the entries of streams after given IDs; waits for them if asked to.",
        (
            "[COUNT count] [MAXCOUNT max-count] [MAXSIZE max-size]"
            " [BLOCK milliseconds] STREAMS key [key ...] id [id ...]"
        ),
        complexity="O(N) for each stream, with N the number of entries returned.",
        history=[
            ("7.4.0", "Added the ID `+`."),
            ("8.10.0", "Added the `MAXCOUNT` and `MAXSIZE` options."),
        ],
    ),
    "XREADGROUP": Row(
        "Returns new or pending entries for a consumer of a group; waits if asked to.",
        (
            "GROUP group consumer [COUNT count] [MAXCOUNT max-count] [MAXSIZE max-size]"
            " [BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]"
        ),
        complexity="O(N) for each stream, with N the number of entries returned.",
        history=[
            ("8.4.0", "Added the `CLAIM` option."),
            ("8.10.0", "Added the `MAXCOUNT` and `MAXSIZE` options."),
        ],
    ),
    "XREVRANGE": Row(
        "Returns the entries within a range of IDs, the last one first.",
        "key end start [COUNT count]",
        complexity="O(N) with N the number of entries returned.",
        history=[("6.2.0", "Added exclusive ranges.")],
    ),
    "XSETID": Row(
        "Sets the last ID and the counters of a stream (internal).",
        "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        history=[("7.0.0", "Added the `entries_added` and `max_deleted_entry_id` arguments.")],
    ),
    "XSPLIT": Row(
        "Splits a range of IDs into parts of equal size (Rillway's own).",
        "key start end EVERY number [COUNT count]",
        complexity="O(N+M) with N the number of nodes in the range and M the number of parts.",
        since="8.10.0",
    ),
    "XTRIM": Row(
        "Removes entries from the beginning of a stream.",
        "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
        complexity="O(N) with N the number of removed entries; a whole node is removed at once.",
        history=[
            ("6.2.0", "Added the `MINID` strategy and the `LIMIT` option."),
            ("8.2.0", "Added the options `KEEPREF`, `DELREF` and `ACKED`."),
        ],
        tips=["nondeterministic_output"],
    ),
}
