"""Documentation of the commands of HyperLogLogs (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "hyperloglog"
SINCE = "2.8.9"

ROWS = {
    "PFADD": Row(
        "Adds elements to a HyperLogLog, which is created if there is none.",
        "key [element [element ...]]",
        complexity="O(N) with N the number of elements.",
    ),
    "PFCOUNT": Row(
        "Estimates the number of different elements of HyperLogLogs together.",
        "key [key ...]",
        complexity="O(1) for one key, O(N) for several.",
    ),
    "PFDEBUG": Row("Shows how a HyperLogLog is stored.", "subcommand key", complexity="N/A"),
    "PFMERGE": Row(
        "Merges HyperLogLogs into another one, which is created if needed.",
        "destkey [sourcekey [sourcekey ...]]",
        complexity="O(N) with N the number of keys.",
    ),
    "PFSELFTEST": Row(
        "Compares estimates of HyperLogLogs with numbers of elements that are known.",
        complexity="N/A",
    ),
}
