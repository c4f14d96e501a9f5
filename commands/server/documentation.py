"""Documentation of the commands of the server (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "server"
SINCE = "1.0.0"

_ALL_NODES = ["request_policy:all_nodes", "response_policy:all_succeeded"]
_EACH_NODE = ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"]
_EACH_SHARD = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"]

ROWS = {
    "BGREWRITEAOF": Row("Rewrites the append-only file in the background, as short as possible."),
    "BGSAVE": Row(
        "Writes a snapshot of the data in the background.",
        "[SCHEDULE]",
        history=[("3.2.2", "The option `SCHEDULE`.")],
    ),
    "COMMAND": Row(
        "Describes every command.",
        complexity="O(N) where N is the total number of Redis commands",
        since="2.8.13",
        tips=["nondeterministic_output_order"],
        categories=["connection"],
    ),
    "COMMAND COUNT": Row("Counts the commands.", categories=["connection"]),
    "COMMAND DOCS": Row(
        "Documents the named commands, or all.",
        "[command-name [command-name ...]]",
        complexity="O(N) where N is the number of commands to look up",
        since="7.0.0",
        tips=["nondeterministic_output_order"],
        categories=["connection"],
    ),
    "COMMAND GETKEYS": Row(
        "Returns the keys in a request.",
        "command [arg [arg ...]]",
        complexity="O(N) where N is the number of arguments to the command",
        categories=["connection"],
    ),
    "COMMAND GETKEYSANDFLAGS": Row(
        "Returns the keys in a request, and what it does with each.",
        "command [arg [arg ...]]",
        complexity="O(N) where N is the number of arguments to the command",
        since="7.0.0",
        categories=["connection"],
    ),
    "COMMAND HELP": Row("Lists the sub-commands.", since="5.0.0", categories=["connection"]),
    "COMMAND INFO": Row(
        "Describes the named commands, or all.",
        "[command-name [command-name ...]]",
        complexity="O(N) where N is the number of commands to look up",
        history=[("7.0.0", "Works without names.")],
        tips=["nondeterministic_output_order"],
        categories=["connection"],
    ),
    "COMMAND LIST": Row(
        "Lists the names of commands and sub-commands.",
        "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
        complexity="O(N) where N is the total number of Redis commands",
        since="7.0.0",
        tips=["nondeterministic_output_order"],
        categories=["connection"],
    ),
    "CONFIG": Row("Reads and changes the configuration.", since="2.0.0"),
    "CONFIG GET": Row(
        "Returns directives and their values.",
        "parameter [parameter ...]",
        complexity="O(N) when N is the number of configuration parameters provided",
        history=[("7.0.0", "Several patterns in one call.")],
    ),
    "CONFIG HELP": Row("Lists the sub-commands.", since="5.0.0"),
    "CONFIG RESETSTAT": Row("Sets the counters of INFO to zero."),
    "CONFIG REWRITE": Row("Writes the current values to the configuration file.", since="2.8.0"),
    "CONFIG SET": Row(
        "Changes directives while the server runs.",
        "parameter value [parameter value ...]",
        complexity="O(N) when N is the number of configuration parameters provided",
        history=[("7.0.0", "Several directives in one call.")],
        tips=_ALL_NODES,
    ),
    "DEBUG": Row(
        "Tools for tests.",
        "subcommand [argument [argument ...]]",
        complexity="Depends on subcommand.",
    ),
    "INFO": Row(
        "Returns statistics and facts about the server.",
        "[section [section ...]]",
        history=[("7.0.0", "Several sections in one call.")],
        tips=_EACH_SHARD,
        categories=["dangerous"],
    ),
    "LASTSAVE": Row(
        "Returns when the data was saved last.",
        tips=["nondeterministic_output"],
        categories=["admin", "dangerous"],
    ),
    "LATENCY": Row("Reports the latency of commands and other events.", since="2.8.13"),
    "LATENCY DOCTOR": Row("Reports on latency in words.", tips=_EACH_NODE),
    "LATENCY GRAPH": Row("Draws the samples of one event.", "event", tips=_EACH_NODE),
    "LATENCY HELP": Row("Lists the sub-commands."),
    "LATENCY HISTOGRAM": Row(
        "Returns how the latencies of commands are distributed.",
        "[command [command ...]]",
        complexity=(
            "O(N) where N is the number of commands with latency information being retrieved."
        ),
        since="7.0.0",
        tips=_EACH_NODE,
    ),
    "LATENCY HISTORY": Row("Returns the samples of one event.", "event", tips=_EACH_NODE),
    "LATENCY LATEST": Row("Returns the latest sample of every event.", tips=_EACH_NODE),
    "LATENCY RESET": Row(
        "Deletes the samples of the named events, or of all.",
        "[event [event ...]]",
        tips=_ALL_NODES,
    ),
    "LOLWUT": Row("Draws a picture, and shows the version.", "[VERSION version]", since="5.0.0"),
    "MEMORY": Row("Reports the use of memory.", since="4.0.0"),
    "MEMORY DOCTOR": Row("Reports on memory in words.", tips=_EACH_SHARD),
    "MEMORY HELP": Row("Lists the sub-commands."),
    "MEMORY PURGE": Row(
        "Returns unused memory to the system.",
        tips=["request_policy:all_shards", "response_policy:all_succeeded"],
    ),
    "MEMORY STATS": Row("Returns the use of memory in figures.", tips=_EACH_SHARD),
    "MEMORY USAGE": Row(
        "Estimates the memory that a key occupies.",
        "key [SAMPLES count]",
        complexity="O(N) where N is the number of samples.",
    ),
    "MODULE": Row("Shows the loaded modules.", since="4.0.0"),
    "MODULE HELP": Row("Lists the sub-commands of MODULE.", since="5.0.0"),
    "MODULE LIST": Row(
        "Lists the loaded modules.",
        complexity="O(N) where N is the number of loaded modules.",
        tips=["nondeterministic_output_order"],
    ),
    "MONITOR": Row("Sends every request that the server runs."),
    "SAVE": Row(
        "Writes a snapshot of the data while all clients wait.",
        complexity="O(N) where N is the total number of keys in all databases",
    ),
    "SHUTDOWN": Row(
        "Stops the server.",
        "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        history=[("7.0.0", "The modifiers `NOW`, `FORCE` and `ABORT`.")],
    ),
    "SLOWLOG": Row("Shows requests that took long.", since="2.2.12"),
    "SLOWLOG GET": Row(
        "Returns the latest slow requests.",
        "[count]",
        complexity="O(N) where N is the number of entries returned",
        history=[("4.0.0", "The client's address and name.")],
        tips=["request_policy:all_nodes", "nondeterministic_output"],
    ),
    "SLOWLOG HELP": Row("Lists the sub-commands.", since="6.2.0"),
    "SLOWLOG LEN": Row(
        "Counts the entries of the slow log.",
        tips=["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"],
    ),
    "SLOWLOG RESET": Row(
        "Empties the slow log.",
        complexity="O(N) where N is the number of entries in the slowlog",
        tips=_ALL_NODES,
    ),
    "TIME": Row("Returns the server's time.", since="2.6.0", tips=["nondeterministic_output"]),
}
