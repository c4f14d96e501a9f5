"""What commands may ask of the process, of a client's connection and of the dispatcher.

`Host` is the clock, chance, files and the log. The server implements it with the event loop and the
disk; unit tests and the in-process server implement it in memory. Code in `commands/` has no other
access to the process.

`Transport` is the connection of one client.

`Services` runs commands and propagates requests. The dispatcher implements it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Protocol

from protocol.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from commands.core.blocked_clients import Block
    from commands.core.client import Client
    from commands.core.registry import Command, Handler, Queued, Reply
    from commands.replication.replica_table import Replica
    from protocol.request import Request
    from protocol.requests import Argv


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
    listeners: list[tuple[str, str, int]]  # (kind: "tcp" or "unix", address, port)
    event_loop: str  # e.g. "uvloop"
    startup_resident_bytes: int = 0  # once the server listened, before the first key
    cpu_user_main_thread_s: float = 0.0
    cpu_system_main_thread_s: float = 0.0


class Persistence(Protocol):
    """The persistence services that commands use (server/persistence/persistence.py).

    The state is in `Instance.persistence`. The log has the reason for a failure.
    """

    @property
    def synced_units(self) -> int:
        """The number of `Instance.propagated_units` on disk; -1 if the append-only file is off."""

    def save(self) -> bool:
        """Write a snapshot and return when it is on disk; False if that failed.

        No child may be saving.
        """

    def start_save(self) -> bool:
        """Start a child that writes a snapshot; False if that failed. No child may be running."""

    def start_rewrite(self) -> bool:
        """Start a child that rewrites the append-only file; False if that failed.

        No other may run.
        """

    def answer_when_synced(self, client: Client, block: Block, units: int) -> None:
        """Answer a client that is about to wait on `block` (WAITAOF) once `units` are synced."""

    def data_replaced(self) -> None:
        """A synchronisation replaced all data: start the append-only file again."""

    def all_data_flushed(self) -> None:
        """FLUSHALL: stop a child that saves the removed data; with `save` points, save again."""

    def reload_snapshot(self, *, save: bool, flush: bool, merge: bool) -> None:
        """DEBUG RELOAD: save a snapshot, remove all data, load the snapshot; `save` and `flush`
        switch the first two off.

        `merge`: keys of the file replace those that are there. Raises ReplyError.
        """

    def reload_append_only_file(self) -> None:
        """DEBUG LOADAOF: remove all data and load the append-only file.

        The process ends if that fails.
        """


class Replication(Protocol):
    """The replication services that commands use (server/replication/replication.py).

    The state is in `Instance.replication`.
    """

    def send(self, replica: Replica, data: bytes) -> None:
        """Send bytes to a replica, in the order of the calls."""

    def check_can_serve(self, client: Client) -> None:
        """Raise ReplyError if the client cannot become a replica now."""

    def synchronise(self, client: Client, replication_id: bytes, offset: int) -> None:
        """PSYNC: make the client a replica that has everything before `offset`."""

    def synchronise_blindly(self, client: Client) -> None:
        """SYNC: make the client a replica that does not use offsets."""

    def acknowledged(self, replica: Replica) -> None:
        """A replica has acknowledged an offset."""

    def answer_when_acknowledged(
        self, client: Client, block: Block, counted: int, *, on_disk: bool
    ) -> None:
        """Run the command of a client that is about to wait on `block` again when more than the
        `counted` replicas acknowledge what it waits for (WAIT, WAITAOF).
        """

    def take_over(self, replication_id: bytes) -> None:
        """PSYNC ... FAILOVER: become the primary at the primary's request. Raises ReplyError."""

    def start_failover(
        self, target: tuple[str, int] | None, timeout_ms: int, *, force: bool
    ) -> None:
        """Hand the role over to a replica as soon as it is up to date. `timeout_ms` 0: no limit."""

    def abort_failover(self) -> None:
        """Stay the primary."""

    def follow(self, host: str, port: int) -> None:
        """REPLICAOF: become a replica of the given server."""

    def promote(self) -> None:
        """REPLICAOF NO ONE: become a primary."""

    def acknowledge_now(self) -> None:
        """Send the primary this server's offset (REPLCONF ACK)."""


class Host(Protocol):
    """Services of the surrounding process."""

    persistence: Persistence
    replication: Replication

    def clock_us(self) -> int:
        """Unix time in microseconds, fresh (TIME, MONITOR, slow log)."""

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

    def begin_shutdown(self, *, save: bool | None, now: bool, force: bool) -> bool:
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

    def resume(self) -> None:
        """A script that had paused has ended: finish the cycle."""

    def fatal(self, message: str) -> NoReturn:
        """Log the message and end the process at once, with exit status 1: going on does harm."""

    def log(self, level: str, message: str) -> None:
        """Write to the server's log; levels as the `loglevel` directive names them."""


class Transport(Protocol):
    """A client's connection."""

    def send_soon(self) -> None:
        """`Client.output` got bytes outside of a request of its own: send them this cycle."""

    def abort(self) -> None:
        """Close the connection at once; output that is not yet sent is dropped."""

    def peer_is_gone(self) -> bool:
        """Return True if the peer has closed the connection, even before the loop reports it."""

    def set_delay(self, *, is_allowed: bool) -> None:
        """Allow or forbid the delay of small packets, TCP_NODELAY (repl-disable-tcp-nodelay)."""

    def unsent_bytes(self) -> int:
        """Output that has left `Client.output` but that the client has not yet taken."""


class Detached:
    """The transport of a client without a connection: a file is replayed, a script runs."""

    def send_soon(self) -> None:
        """Nothing: the output stays where it is."""

    def abort(self) -> None:
        """Nothing."""

    def peer_is_gone(self) -> bool:
        """False."""
        return False

    def set_delay(self, *, is_allowed: bool) -> None:
        """Nothing."""

    def unsent_bytes(self) -> int:
        """0."""
        return 0


DETACHED = Detached()


class Services(Protocol):
    """The part of the dispatcher that handlers use (server/requests/dispatch.py)."""

    mark_ns: int  # when the last command ended, in ns of a monotonic clock

    def run(self, client: Client, command: Command, request: Request) -> Reply:
        """Run a command now, with statistics and propagation, and return its reply."""

    def run_queue(
        self, client: Client, queue: list[Queued], room_bytes: int | None
    ) -> list[bytes] | None:
        """`run` the requests of a transaction; None if the replies take more than `room_bytes`."""

    def propagate(self, db_index: int, request: Argv) -> None:
        """Propagate a change that no client requested, in order with the commands' own."""

    def propagate_message(self, request: Argv) -> None:
        """Send replicas a request that changes no data (PUBLISH), in order with the others."""

    def serve_ready_keys(self) -> None:
        """Run the retries of the clients that wait for keys on the ready list."""

    def end_waiting(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client with `reply`, which counts as a call, and let it go on with its
        next request.
        """

    def account(
        self, client: Client, command: Command, request: Request, handler: Handler | None
    ) -> Reply:
        """`run` with another handler than the command's; a long reply is sent in pieces."""

    def run_with_pauses(self, client: Client, argv: Argv, work: Callable[[], Reply]) -> Reply:
        """The reply of `work`, which may call `pause_script`; a Block if it has."""

    def pause_script(self) -> bool:
        """Suspend the script that runs, and let the event loop continue for a while.

        False if that is impossible: a file is replayed.
        """

    def end_script(self) -> bool:
        """End a script that has paused, for a shutdown.

        False if it had written: none of that was propagated, and the data must not be saved.
        """

    def run_held_back(
        self, client: Client, command: Command, request: Request, keeps: int
    ) -> Reply:
        """`run` that propagates only to the targets that redis.set_repl(`keeps`) selects."""
