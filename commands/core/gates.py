"""Gates: flags for states in which a request must be checked before it runs.

A client has a set of them, and the instance another (server/requests/admission.py). While both are
0, no check is made.
"""

from __future__ import annotations

# The gates of a client.
GATE_AUTH = 1 << 0  # has not authenticated
GATE_MULTI = 1 << 1  # is queueing a transaction
GATE_SUBSCRIBED = 1 << 2  # RESP2 and subscribed: few commands are allowed
GATE_SILENT = 1 << 3  # CLIENT REPLY OFF or SKIP
GATE_TRACKING = 1 << 4  # the keys that it reads go into the tracking table
GATE_MONITOR = 1 << 5  # is in MONITOR mode: may not use the keyspace
GATE_REPLICA = 1 << 6  # is a replica's link: a reply would corrupt the replication stream
GATE_PRIMARY = 1 << 7  # is the link to the primary, which has accepted its requests already
GATE_RESTRICTED = 1 << 8  # its user may not do everything: access control lists
GATE_LIMITED = 1 << 9  # its user has a limit: user-limit

# The gates of the instance.
GATE_PAUSED = 1 << 0  # CLIENT PAUSE
GATE_LOADING = 1 << 1  # the data is being read from disk
GATE_WRITES_REFUSED = 1 << 2  # writes that cannot be made durable are refused
GATE_FEW_REPLICAS = 1 << 3  # min-replicas-to-write
GATE_READ_ONLY = 1 << 4  # a replica accepts writes from its primary only
GATE_STALE = 1 << 5  # a replica without a link must not serve stale data
GATE_ENDING = 1 << 6  # writes wait: a shutdown waits for replicas
GATE_BUSY = 1 << 7  # a script has run for longer than busy-reply-threshold
GATE_CLIENT_MEMORY = 1 << 10  # clients have a memory limit, which each request may exceed
GATE_FAILOVER = 1 << 8  # writes wait: a replica is to take over
GATE_OUT_OF_MEMORY = 1 << 9  # what may use more memory is refused: there is nothing to evict
GATE_MIGRATING = 1 << 11  # writes to keys that are being migrated wait
GATE_AUDIT = 1 << 12  # what administers the server is refused: the audit log cannot be written
# While one of these is shut, writes wait; while GATE_PAUSED is, what CLIENT PAUSE names.
WRITES_WAIT_GATES = GATE_ENDING | GATE_FAILOVER | GATE_MIGRATING
# While one of these is shut, nothing is added to the replication stream. GATE_MIGRATING holds back
# only what may write the keys that move (commands/keys/migrate.py).
HOLDING_GATES = GATE_PAUSED | WRITES_WAIT_GATES
# While one of these is shut, expired keys and fields stay, hidden from clients.
KEEPING_GATES = HOLDING_GATES | GATE_READ_ONLY
