"""The log lines that both servers print for the same event, as patterns that find them."""

from __future__ import annotations

import re

# Of a start, and of the files that it loads. `<f>` is the name of a file.
LOADING = (
    r"Reading RDB base file on AOF loading\.\.\.",
    r"DB loaded from (base|incr) file (?P<f>\S+):",
    r"DB loaded from append only file:",
    r"DB loaded from disk:",
    r"Done loading RDB, keys loaded: \d+, keys expired: \d+\.",
    r"short read while loading the AOF file (?P<f>\S+?)!!!",
    r"Truncating the AOF (?P<f>\S+) at offset \d+ !!!",
    r"AOF (?P<f>\S+) loaded anyway because aof-load-truncated is enabled",
    r"Revert incomplete MULTI/EXEC transaction in AOF file (?P<f>\S+)",
    r"Unexpected end of file reading the append only file",
    r"Bad file format reading the append only file",
    r"Unknown command '\w+' reading the append only file",
    r"Fatal error: the truncated file is not the last file",
    r"Unable to obtain the AOF file (?P<f>\S+) length",
    r"Short read or OOM loading DB",
    r"Wrong RDB checksum",
    r"Found an empty AOF manifest",
    r"Found duplicate base file information",
    r"Found a non-monotonic sequence number",
    r"Invalid AOF manifest file format",
    r"Unknown AOF file type",
    r"The AOF manifest file contains too long line",
    r"File can't be a path, just a filename",
)
# Of an end.
ENDING = (
    r"Received SIG\w+ scheduling shutdown",
    r"User requested shutdown\.\.\.",
    r"Waiting for replicas before shutting down\.",
    r"Lagging replica \S+:\d+ reported offset \d+ behind master, lag=\d+, state=\w+\.",
    r"\d+ of \d+ replicas are in sync when shutting down\.",
    r"Shutdown manually aborted\.",
    r"You insist\.\.\. exiting now\.",
    r"Calling fsync\(\) on the AOF file\.",
    r"Saving the final RDB snapshot before exiting\.",
    r"Error trying to save the DB, can't exit\.",
    r"Error trying to save the DB\. Exit anyway\.",
    r"Errors trying to shut down the server",
    r"Removing the pid file\.",
    r"is now ready to exit, bye bye\.\.\.",
)

# Of what happens while a server runs: see test_logs.py. What Redis says beside it differs from
# release to release, or there is no such thing here (a second connection for the snapshot).
EVENTS = {
    "the role": (
        r"Before turning into a replica, using my own master parameters to synthesize a cached",
        r"REPLICAOF \S+:\d+ enabled \(user request from '.*'\)",
        r"REPLICAOF would result into synchronization with the master we are already connected",
        r"MASTER MODE enabled \(user request from '.*'\)",
        r"MASTER MODE enabled \(failover request from '.*'\)",
        r"Setting secondary replication ID to \w{40}, valid up to offset: \d+\. New replication",
        r"Failover request received for replid \w{40}\.",
        r"FAILOVER requested to (any replica|\S+:\d+)\.",
        r"Failover target \S+:\d+ is synced, failing over\.",
        r"FAILOVER to (any replica|\S+:\d+) aborted: Failover manually aborted",
        r"FAILOVER to \S+:\d+ aborted: Replica never caught up before timeout",
        r"FAILOVER to \S+:\d+ time out exceeded, failing over\.",
    ),
    "a replica": (
        r"Connecting to MASTER \S+:\d+",
        r"Reconnecting to MASTER \S+:\d+",
        r"MASTER <-> REPLICA sync started",
        r"Non blocking connect for SYNC fired the event\.",
        r"Master replied to PING, replication can continue\.\.\.",
        r"Unable to AUTH to MASTER: -WRONGPASS",
        r"\(Non critical\) Master does not understand REPLCONF listening-port: -NOAUTH",
        r"\(Non critical\) Master does not understand REPLCONF capa: -NOAUTH",
        r"Unexpected reply to PSYNC from master: -NOAUTH",
        r"Retrying with SYNC\.\.\.",
        r"MASTER aborted replication with an error: NOAUTH",
        r"Trying a partial resynchronization \(request \w{40}:\d+\)\.",
        r"Full resync from master: \w{40}:\d+",
        r"MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF",
        r"MASTER <-> REPLICA sync: receiving \d+ bytes from master",
        r"Discarding previously cached master state\.",
        r"MASTER <-> REPLICA sync: Flushing old data",
        r"MASTER <-> REPLICA sync: Loading DB in memory",
        r"Loading RDB produced by version \S+",
        r"RDB age \d+ seconds",
        r"RDB memory usage when created \S+ Mb",
        r"MASTER <-> REPLICA sync: Finished with success",
        r"Successful partial resynchronization with master\.",
        r"Master replication ID changed to \w{40}",
        r"MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization\.",
        r"Connection with master lost\.",
        r"Caching the disconnected master state\.",
        r"MASTER timeout: no data nor PING received\.\.\.",
        r"Timeout connecting to the MASTER\.\.\.",
        r"Error condition on socket for SYNC: ",
    ),
    "a primary": (
        r"Replica \S+:\d+ asks for synchronization",
        r"Full resync requested by replica \S+:\d+",
        r"Partial resynchronization not accepted: Replication ID mismatch \(Replica asked for",
        r"Replication backlog created, my new replication IDs are '\w{40}' and '0{40}'",
        r"Partial resynchronization request from \S+:\d+ accepted\. Sending \d+ bytes of backlog",
        r"Starting BGSAVE for SYNC with target: replicas sockets",
        r"Starting BGSAVE for SYNC with target: disk",
        r"Background RDB transfer started by pid \d+",
        r"Diskless rdb transfer, done reading from pipe, 1 replicas still up\.",
        r"Background RDB transfer terminated with success",
        r"Streamed RDB transfer with replica \S+:\d+ succeeded \(socket\)\. Waiting for REPLCONF",
        r"Synchronization with replica \S+:\d+ succeeded",
        r"Connection with replica \S+:\d+ lost\.",
        r"Disconnecting timedout replica \(streaming sync\): \S+:\d+",
    ),
    "snapshots": (
        r"\d+ changes in \d+ seconds\. Saving\.\.\.",
        r"Background saving started by pid \d+",
        r"DB saved on disk",
        r"Background saving terminated with success",
    ),
    "rewrites": (
        r"Starting automatic rewriting of AOF on \d+% growth",
        r"Creating AOF (base|incr) file \S+ on server start",
        r"Opening AOF incr file \S+ on server start",
        r"Creating AOF incr file \S+ on background rewrite",
        r"Background append only file rewriting started by pid \d+",
        r"Successfully created the temporary AOF base file \S+",
        r"Background AOF rewrite terminated with success",
        r"Successfully renamed the temporary AOF base file \S+ into \S+\.base\.rdb",
        r"Successfully renamed the temporary AOF incr file \S+ into \S+\.incr\.aof",
        r"Removing the history file \S+ in the background",
        r"Background AOF rewrite finished successfully",
        r"Killing running AOF rewrite child: \d+",
        r"AOF was enabled but there is already another background operation\. An AOF",
    ),
    "errors": (
        r"== CRITICAL == This replica is sending an error to its master: '.*' after processing the",
        r"This replica panicked sending an error to its master after processing the command",
    ),
}
# Of changes of roles, of which each happens once, and in one order.
ROLES = (
    r"MASTER MODE enabled \((user|failover) request from",
    r"Failover request received for replid",
    r"FAILOVER requested to",
    r"Failover target \S+:\d+ is synced, failing over\.",
    r"Before turning into a replica, using my own master parameters",
    r"Full resync from master:",
    r"Successful partial resynchronization with master\.",
    r"MASTER <-> REPLICA sync: Finished with success",
)
_EITHER = re.compile("|".join(f"(?:{re.sub(r'[?]P<f>', '', p)})" for p in LOADING + ENDING + ROLES))
# What differs between two servers, or from run to run.
_PLACES = re.compile(r"\S+:\d+ (reported|is synced)|lag=\d+")


def events(log: str) -> list[str]:
    """The lines of a log that have a pattern: the matched parts, in order."""
    found = (_EITHER.search(line) for line in log.splitlines())
    return [_PLACES.sub("", match[0]) for match in found if match is not None]


def found(log: str) -> set[str]:
    """The patterns of EVENTS that find a line of a log."""
    patterns = (pattern for group in EVENTS.values() for pattern in group)
    return {pattern for pattern in patterns if re.search(pattern, log)}
