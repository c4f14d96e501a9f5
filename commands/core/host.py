"""What commands may ask of the process, and of a client's connection.

`Host` is the clock, chance, files and the log. The server implements it with the event loop and the
disk; unit tests and the in-process server implement it in memory. Code in `commands/` has no other
access to the process. `Connection` is the connection of one client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Protocol

from protocol.records import record

REDIS_VERSION = "8.10.0"
# From 8.4.0 on, redis-cli moves slots by CLUSTER MIGRATION, which Rillway does not have.
CLUSTER_VERSION = "8.2.0"
RILLWAY_VERSION = "0.1.0"  # the same as in pyproject.toml; a test compares them


def reported(is_cluster: bool) -> str:
    """The version of Redis that is reported to clients."""
    return CLUSTER_VERSION if is_cluster else REDIS_VERSION


@record
class Certificate:
    """A certificate in force."""

    owner: str  # "server", "client" (for outgoing connections) or "ca"
    serial: str  # hexadecimal
    ends_s: int  # Unix time


@record
class ProcessFacts:
    """The facts about the process that INFO and MEMORY report."""

    pid: int
    executable: str
    config_file: str
    supervisor: str  # "no", "systemd" or "upstart"
    os: str
    started_ms: int
    resident_bytes: int
    peak_resident_bytes: int
    total_system_bytes: int
    cpu_user_s: float
    cpu_system_s: float
    cpu_user_children_s: float
    cpu_system_children_s: float
    listeners: list[tuple[str, str, int]]  # (kind: "tcp", "tls" or "unix", address, port)
    event_loop: str  # e.g. "uvloop"
    startup_resident_bytes: int = 0  # once the server listened, before the first key
    cpu_user_main_thread_s: float = 0.0
    cpu_system_main_thread_s: float = 0.0
    certificates: Sequence[Certificate] = ()


class Host(Protocol):
    """Services of the surrounding process."""

    def clock_us(self) -> int:
        """Unix time in microseconds, fresh (TIME, MONITOR, slow log)."""

    def monotonic_us(self) -> int:
        """Monotonic time in microseconds, fresh: durations and time slices."""

    def is_interrupted(self) -> bool:
        """Return True if a signal to end the server waits for the event loop."""

    def random_below(self, limit: int) -> int:
        """A random integer in [0, limit)."""

    def random_hex(self, digits: int) -> str:
        """Random lower-case hexadecimal digits (run_id, replication_id)."""

    def resume_postponed(self) -> None:
        """CLIENT PAUSE ended or changed: run the postponed requests."""

    def pause(self, seconds: float) -> None:
        """Stop the whole server for a while (DEBUG SLEEP)."""

    def begin_shutdown(self, *, save: bool | None, now: bool, force: bool, failover: bool) -> bool:
        """Wait for replicas to catch up, then end. False if there is nothing to wait for.

        `now`: do not begin to wait. If a shutdown waits already, nothing changes.
        """

    def abort_shutdown(self) -> bool:
        """SHUTDOWN ABORT; False if no shutdown is waiting."""

    def shut_down(self, *, save: bool | None, force: bool) -> bool:
        """Write everything to disk and end: no request runs after this one (SHUTDOWN).

        False if the write fails: the server then goes on. `save` None: save if there are save
        points. `force`: end even if the write fails.
        """

    def facts(self) -> ProcessFacts:
        """The process's numbers, fresh."""

    def purge_memory(self) -> None:
        """Return unused memory to the operating system (MEMORY PURGE)."""

    def apply_config(self, names: list[str]) -> None:
        """Apply directives that CONFIG SET changed (port, bind, maxclients, ...).

        Raises ValueError with a text for the client if that fails; nothing is changed then.
        """

    def rewrite_config(self) -> None:
        """CONFIG REWRITE. Raises OSError, or ValueError when there is no configuration file."""

    def read_acl_file(self) -> bytes:
        """The content of the ACL file (`aclfile`). Raises OSError."""

    def write_acl_file(self, text: bytes) -> None:
        """Replace the ACL file; after a crash it is the old one or the new one. Raises OSError."""

    def tell_supervisor(self, state: str) -> None:
        """Send systemd lines such as STATUS=..., if it supervises the process."""

    def resume(self) -> None:
        """A script that had paused has ended: finish the cycle."""

    def fatal(self, message: str) -> NoReturn:
        """Log the message and end the process at once, with exit status 1, before it does harm."""

    def log(self, level: str, message: str) -> None:
        """Write to the server's log; levels as the `loglevel` directive names them.

        Bytes in the message are users' data (commands/config/redaction.py).
        """

    def log_bounded(self, level: str, kind: str, message: str) -> None:
        """Write a line that clients can cause at will, unless its kind has had one this minute.

        The others are counted, and their number is written once the minute is over.
        """


class Connection(Protocol):
    """A client's connection."""

    local_address: bytes  # as `Client.address`
    fd: int  # of the socket; -1 if there is none
    unix_socket: bool

    def send_soon(self) -> None:
        """`Client.output` got bytes outside of a request of its own: send them this cycle."""

    def read_on(self) -> None:
        """Read the socket again: the requests that were read have had their time slices."""

    def abort(self) -> None:
        """Close the connection at once; output that is not yet sent is dropped."""

    def peer_has_closed(self) -> bool:
        """Return True if the peer has closed the connection, even before the loop reports it."""

    def set_delay(self, *, is_allowed: bool) -> None:
        """Allow or forbid the delay of small packets, TCP_NODELAY (repl-disable-tcp-nodelay)."""

    def is_encrypted(self) -> bool:
        """Return True for a connection over TLS."""

    def unsent_bytes(self) -> int:
        """Output that has left `Client.output` but that the client has not yet taken."""


class Detached:
    """The connection of a client that has none: a file is replayed, a script runs."""

    def __init__(self) -> None:
        self.local_address = b""
        self.fd = -1
        self.unix_socket = False

    def send_soon(self) -> None:
        """Nothing: the output stays where it is."""

    def read_on(self) -> None:
        """Nothing."""

    def abort(self) -> None:
        """Nothing."""

    def peer_has_closed(self) -> bool:
        """False."""
        return False

    def set_delay(self, *, is_allowed: bool) -> None:
        """Nothing."""

    def is_encrypted(self) -> bool:
        """False."""
        return False

    def unsent_bytes(self) -> int:
        """0."""
        return 0


DETACHED = Detached()
