"""Documentation of the commands of scripts and functions (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "scripting"
SINCE = "2.6.0"

_ALL_NODES = ["request_policy:all_nodes", "response_policy:all_succeeded"]
_ALL_SHARDS = ["request_policy:all_shards", "response_policy:all_succeeded"]

ROWS = {
    "EVAL": Row(
        "Runs a script in Lua.",
        "script numkeys [key [key ...]] [arg [arg ...]]",
        complexity="Depends on the script that is executed.",
    ),
    "EVALSHA": Row(
        "Runs a script of the cache, by its SHA1.",
        "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        complexity="Depends on the script that is executed.",
    ),
    "EVALSHA_RO": Row(
        "Runs a script of the cache that changes nothing, by its SHA1.",
        "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        complexity="Depends on the script that is executed.",
        since="7.0.0",
    ),
    "EVAL_RO": Row(
        "Runs a script in Lua that changes nothing.",
        "script numkeys [key [key ...]] [arg [arg ...]]",
        complexity="Depends on the script that is executed.",
        since="7.0.0",
    ),
    "FCALL": Row(
        "Runs a function of a library.",
        "function numkeys [key [key ...]] [arg [arg ...]]",
        complexity="Depends on the function that is executed.",
        since="7.0.0",
    ),
    "FCALL_RO": Row(
        "Runs a function of a library that changes nothing.",
        "function numkeys [key [key ...]] [arg [arg ...]]",
        complexity="Depends on the function that is executed.",
        since="7.0.0",
    ),
    "FUNCTION": Row("Keeps libraries of functions.", since="7.0.0"),
    "FUNCTION DELETE": Row("Removes a library.", "library-name", tips=_ALL_SHARDS),
    "FUNCTION DUMP": Row(
        "Returns all libraries as bytes.",
        complexity="O(N) where N is the number of functions",
    ),
    "FUNCTION FLUSH": Row(
        "Removes all libraries.",
        "[ASYNC | SYNC]",
        complexity="O(N) where N is the number of functions deleted",
        tips=_ALL_SHARDS,
    ),
    "FUNCTION HELP": Row("Lists the sub-commands."),
    "FUNCTION KILL": Row(
        "Ends the function that runs, if it has not written.",
        tips=["request_policy:all_shards", "response_policy:one_succeeded"],
    ),
    "FUNCTION LIST": Row(
        "Lists the libraries.",
        "[LIBRARYNAME library-name-pattern] [WITHCODE]",
        complexity="O(N) where N is the number of functions",
        tips=["nondeterministic_output_order"],
    ),
    "FUNCTION LOAD": Row(
        "Loads a library.",
        "[REPLACE] function-code",
        complexity="O(1) (considering compilation time is redundant)",
        tips=_ALL_SHARDS,
    ),
    "FUNCTION RESTORE": Row(
        "Loads the libraries of a payload.",
        "serialized-value [FLUSH | APPEND | REPLACE]",
        complexity="O(N) where N is the number of functions on the payload",
        tips=_ALL_SHARDS,
    ),
    "FUNCTION STATS": Row(
        "Returns the function that runs and counts libraries.",
        tips=["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
    ),
    "SCRIPT": Row("Keeps scripts, and ends one that runs."),
    "SCRIPT DEBUG": Row("There is no debugger for scripts.", "<YES | SYNC | NO>", since="3.2.0"),
    "SCRIPT EXISTS": Row(
        "Whether scripts are kept, by their SHA1.",
        "sha1 [sha1 ...]",
        complexity="O(N) with N being the number of scripts to check",
        tips=["request_policy:all_shards", "response_policy:agg_logical_and"],
    ),
    "SCRIPT FLUSH": Row(
        "Forgets all scripts.",
        "[ASYNC | SYNC]",
        complexity="O(N) with N being the number of scripts in cache",
        history=[("6.2.0", "The modifiers `ASYNC` and `SYNC`.")],
        tips=_ALL_NODES,
    ),
    "SCRIPT HELP": Row("Lists the sub-commands.", since="5.0.0"),
    "SCRIPT KILL": Row(
        "Ends the script that runs, if it has not written.",
        tips=["request_policy:all_shards", "response_policy:one_succeeded"],
    ),
    "SCRIPT LOAD": Row(
        "Keeps a script for EVALSHA.",
        "script",
        complexity="O(N) with N being the length in bytes of the script body.",
        tips=_ALL_NODES,
    ),
}
