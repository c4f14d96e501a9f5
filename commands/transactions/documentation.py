"""Documentation of the commands of transactions (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "transactions"
SINCE = "1.2.0"

ROWS = {
    "DISCARD": Row(
        "Drops a transaction.",
        complexity="O(N) where N is the number of queued requests.",
        since="2.0.0",
    ),
    "EXEC": Row(
        "Runs the queued requests of a transaction.",
        complexity="Depends on the queued commands.",
    ),
    "MULTI": Row("Starts a transaction: the requests that follow are queued."),
    "UNWATCH": Row(
        "Stops watching all keys.",
        complexity="O(N) where N is the number of watched keys.",
        since="2.2.0",
    ),
    "WATCH": Row(
        "Makes the next transaction fail if keys change before it.",
        "key [key ...]",
        complexity="O(1) for every key.",
        since="2.2.0",
    ),
}
