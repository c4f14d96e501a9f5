"""Documentation of the commands of replication (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "server"
SINCE = "1.0.0"

_MINIMUM_OF_SHARDS = ["request_policy:all_shards", "response_policy:agg_min"]

ROWS = {
    "FAILOVER": Row(
        "Hands the role of the primary over to a replica.",
        "[TO <host port> [FORCE]] [ABORT] [TIMEOUT milliseconds]",
        since="6.2.0",
    ),
    "PSYNC": Row(
        "Makes the connection a replica's, from an offset of a history on.",
        "replicationid offset",
        since="2.8.0",
    ),
    "REPLCONF": Row("Exchanges facts between a primary and a replica.", since="3.0.0"),
    "REPLICAOF": Row(
        "Makes the server a replica of another one, or a primary.",
        "<host port | NO ONE>",
        since="5.0.0",
    ),
    "ROLE": Row(
        "Returns the server's role in replication.",
        since="2.8.12",
        categories=["admin", "dangerous"],
    ),
    "SLAVEOF": Row(
        "Makes the server a replica of another one, or a primary.",
        "<host port | NO ONE>",
        deprecated=("5.0.0", "`REPLICAOF`"),
    ),
    "SYNC": Row("Makes the connection a replica's without offsets and acknowledgements."),
    "WAIT": Row(
        "Waits until replicas have what this connection has written.",
        "numreplicas timeout",
        since="3.0.0",
        group="generic",
        tips=_MINIMUM_OF_SHARDS,
        categories=["connection"],
    ),
    "WAITAOF": Row(
        "Waits until what this connection has written is on disk.",
        "numlocal numreplicas timeout",
        since="7.2.0",
        group="generic",
        tips=_MINIMUM_OF_SHARDS,
        categories=["connection"],
    ),
}
