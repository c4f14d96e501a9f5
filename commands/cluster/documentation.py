"""Documentation of the commands of cluster mode (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "cluster"
SINCE = "3.0.0"

_VARIES = ["nondeterministic_output"]

ROWS = {
    "ASKING": Row(
        "Has the next request served from a slot that is being imported.", categories=["connection"]
    ),
    "CLUSTER": Row("Shows and changes this node of a cluster."),
    "CLUSTER ADDSLOTS": Row(
        "Takes slots that have no owner.", "slot [slot ...]", complexity="O(N) in slots."
    ),
    "CLUSTER ADDSLOTSRANGE": Row(
        "Takes ranges of slots that have no owner.",
        "<start-slot end-slot> [start-slot end-slot ...]",
        since="7.0.0",
        complexity="O(N) in slots.",
    ),
    "CLUSTER BUMPEPOCH": Row("Takes the next epoch for this node's slots.", tips=_VARIES),
    "CLUSTER COUNT-FAILURE-REPORTS": Row(
        "Returns how many primaries report a node as failed.",
        "node-id",
        complexity="O(N) in reports.",
        tips=_VARIES,
    ),
    "CLUSTER COUNTKEYSINSLOT": Row("Returns the number of keys in a slot.", "slot"),
    "CLUSTER DELSLOTS": Row(
        "Leaves slots without owner.", "slot [slot ...]", complexity="O(N) in slots."
    ),
    "CLUSTER DELSLOTSRANGE": Row(
        "Leaves ranges of slots without owner.",
        "<start-slot end-slot> [start-slot end-slot ...]",
        since="7.0.0",
        complexity="O(N) in slots.",
    ),
    "CLUSTER FAILOVER": Row("Has this replica take over from its primary.", "[FORCE | TAKEOVER]"),
    "CLUSTER FLUSHSLOTS": Row("Leaves all slots of this node without owner."),
    "CLUSTER FORGET": Row("Removes a node from what this node knows.", "node-id"),
    "CLUSTER GETKEYSINSLOT": Row(
        "Returns keys of a slot.", "slot count", complexity="O(N) in keys returned.", tips=_VARIES
    ),
    "CLUSTER HELP": Row("Returns the sub-commands.", since="5.0.0"),
    "CLUSTER INFO": Row("Returns the state of the cluster as this node sees it.", tips=_VARIES),
    "CLUSTER KEYSLOT": Row(
        "Returns the slot of a key.", "key", complexity="O(N) in the length of the key."
    ),
    "CLUSTER LINKS": Row(
        "Returns the connections of the bus.",
        since="7.0.0",
        complexity="O(N) in nodes.",
        tips=_VARIES,
    ),
    "CLUSTER MEET": Row("Begins a handshake with another node.", "ip port [cluster-bus-port]"),
    "CLUSTER MYID": Row("Returns the ID of this node."),
    "CLUSTER MYSHARDID": Row("Returns the ID of this node's shard.", since="7.2.0", tips=_VARIES),
    "CLUSTER NODES": Row(
        "Returns a line for each node that is known.", complexity="O(N) in nodes.", tips=_VARIES
    ),
    "CLUSTER REPLICAS": Row(
        "Returns the replicas of a primary.",
        "node-id",
        since="5.0.0",
        complexity="O(N) in replicas.",
        tips=_VARIES,
    ),
    "CLUSTER REPLICATE": Row("Makes this node a replica of a primary.", "node-id"),
    "CLUSTER RESET": Row(
        "Makes this node forget the cluster.", "[HARD | SOFT]", complexity="O(N) in nodes."
    ),
    "CLUSTER SAVECONFIG": Row("Writes nodes.conf."),
    "CLUSTER SET-CONFIG-EPOCH": Row("Gives a new node its first epoch.", "config-epoch"),
    "CLUSTER SETSLOT": Row(
        "Marks a slot that moves, or gives it to a node.",
        "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>",
    ),
    "CLUSTER SHARDS": Row(
        "Returns the shards, with their slots and nodes.",
        since="7.0.0",
        complexity="O(N) in nodes.",
        tips=_VARIES,
    ),
    "CLUSTER SLAVES": Row(
        "Returns the replicas of a primary.",
        "node-id",
        complexity="O(N) in replicas.",
        deprecated=("5.0.0", "`CLUSTER REPLICAS`"),
        tips=_VARIES,
    ),
    "CLUSTER SLOTS": Row(
        "Returns the ranges of slots, with their nodes.",
        complexity="O(N) in nodes.",
        deprecated=("7.0.0", "`CLUSTER SHARDS`"),
        tips=_VARIES,
    ),
    "READONLY": Row("Has reads of this connection served by a replica.", categories=["connection"]),
    "READWRITE": Row(
        "Has all requests of this connection sent to the owners of their slots.",
        categories=["connection"],
    ),
}
