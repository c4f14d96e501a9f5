"""What commands may ask of the process that runs them.

The server implements `Host` over the loop, sockets, clock and disk; unit tests and the in-process
server implement it over nothing. It is the only way out of `commands/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from commands.core.blocking import Block
    from commands.core.client import Client
    from commands.core.registry import Argv, Command, Handler, Reply
    from commands.replication.state import Replica


@dataclass(slots=True)
class ProcessFacts:
    """What INFO and MEMORY tell of the process."""

    pid: int
    executable: str
    config_file: str
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
    """What commands may ask of the files (server/persistence/persistence.py).

    What is known of them is in `Instance.persistence`. The log tells why something failed.
    """

    @property
    def synced_units(self) -> int:
        """How many of `Instance.propagated_units` are on disk; -1: none, whatever was written."""

    def save(self) -> bool:
        """Write a snapshot now; False if that failed. There must be no child that saves."""

    def start_save(self) -> bool:
        """Let a child write one; False if that failed. There must be no child."""

    def start_rewrite(self) -> bool:
        """Let a child rewrite the append-only file; False if that failed. There must be none."""

    def answer_when_synced(self, client: Client, block: Block, units: int) -> None:
        """Answer a client that is about to wait on `block` (WAITAOF) when so many are synced."""

    def data_replaced(self) -> None:
        """All data is another one, by a synchronisation: the append-only file begins again."""

    def all_data_flushed(self) -> None:
        """FLUSHALL: a child that saves what is gone is called off, and the snapshot follows."""

    def reload_snapshot(self, *, save: bool, flush: bool, merge: bool) -> None:
        """DEBUG RELOAD: save, forget everything, load it again, each unless it is left out.

        `merge`: keys of the file replace those that are there. Raises ReplyError.
        """

    def reload_append_only_file(self) -> None:
        """DEBUG LOADAOF: forget everything and load the append-only file.

        The process ends if that fails.
        """


class Replication(Protocol):
    """What commands may ask of replication (server/replication/replication.py).

    What is known of it is in `Instance.replication`.
    """

    def send(self, replica: Replica, data: bytes) -> None:
        """Bytes for a replica, in the order in which they are given."""

    def check_can_serve(self, client: Client) -> None:
        """Raise ReplyError if the client cannot become a replica now."""

    def synchronise(self, client: Client, replication_id: bytes, offset: int) -> None:
        """PSYNC: from now on the client is a replica that has all before `offset`."""

    def synchronise_blindly(self, client: Client) -> None:
        """SYNC: from now on the client is a replica that knows no offsets."""

    def acknowledged(self, replica: Replica) -> None:
        """A replica has said how far it is."""

    def answer_when_acknowledged(
        self, client: Client, block: Block, counted: int, *, on_disk: bool
    ) -> None:
        """Run the command of a client again that is about to wait on `block`, when replicas have
        said more than what made `counted` of them count (WAIT, WAITAOF)."""

    def take_over(self, replication_id: bytes) -> None:
        """PSYNC ... FAILOVER: the primary wants this replica to be one. Raises ReplyError."""

    def start_failover(
        self, target: tuple[str, int] | None, timeout_ms: int, *, force: bool
    ) -> None:
        """Hand the role over to a replica as soon as it has everything; 0: without a limit."""

    def abort_failover(self) -> None:
        """Stay the primary."""

    def follow(self, host: str, port: int) -> None:
        """REPLICAOF: be a replica of that one."""

    def promote(self) -> None:
        """REPLICAOF NO ONE: be a primary."""

    def drop_link(self) -> None:
        """CLIENT KILL of the link to the primary: it is made again."""

    def acknowledge_now(self) -> None:
        """Tell the primary how far this server is."""


class Host(Protocol):
    """Services of the surrounding process."""

    persistence: Persistence
    replication: Replication

    def clock_us(self) -> int:
        """Unix time in microseconds, fresh (TIME, MONITOR, slow log)."""

    def random_below(self, limit: int) -> int:
        """A random integer in [0, limit)."""

    def random_hex(self, digits: int) -> str:
        """Random lower-case hexadecimal digits (run_id, replication_id)."""

    def wake(self, client: Client) -> None:
        """`client.output` got bytes outside of a request of its own: send them this cycle."""

    def close(self, client: Client) -> None:
        """Close the connection at once; output that is not yet sent is dropped."""

    def peer_is_gone(self, client: Client) -> bool:
        """Whether the other side has closed, though the loop has not yet told us."""

    def set_delay(self, client: Client, *, is_allowed: bool) -> None:
        """Whether small packets may be held back, to send fewer (repl-disable-tcp-nodelay)."""

    def unsent_bytes(self, client: Client) -> int:
        """Output that has left `client.output` but that the client has not yet taken."""

    def resume_postponed(self) -> None:
        """CLIENT PAUSE ended or changed: run what was held back."""

    def pause(self, seconds: float) -> None:
        """Stop the whole server for a while (DEBUG SLEEP)."""

    def begin_shutdown(self, *, save: bool | None, force: bool) -> bool:
        """Wait for replicas, and end then. False if there is nothing to wait for."""

    def abort_shutdown(self) -> bool:
        """Call that off; False if there is nothing to call off."""

    def shut_down(self, *, save: bool | None, force: bool) -> bool:
        """Bring everything to disk and end: no request runs after this one (SHUTDOWN).

        False if the disk does not take it: then the server goes on. `save` None: if there are save
        points. `force`: a failure is no reason to stay.
        """

    def facts(self) -> ProcessFacts:
        """The process's numbers, fresh."""

    def purge_memory(self) -> None:
        """Give memory that is not used any more back to the operating system (MEMORY PURGE)."""

    def apply_config(self, names: list[str]) -> None:
        """Bring directives that CONFIG SET changed into force (port, bind, maxclients, ...).

        Raises ValueError with a text for the client where that fails; nothing is changed then.
        """

    def rewrite_config(self) -> None:
        """CONFIG REWRITE. Raises OSError, or ValueError when there is no configuration file."""

    def resume(self) -> None:
        """A script that had paused is done: finish the cycle."""

    def log(self, level: str, message: str) -> None:
        """Write to the server's log; levels as the `loglevel` directive names them."""


class Dispatcher(Protocol):
    """What handlers may ask of the dispatcher (server/dispatch.py)."""

    def execute(self, client: Client, argv: Argv) -> bool:
        """Run one request as if the client had sent it."""

    def run(self, client: Client, command: Command, argv: Argv) -> Reply:
        """Run a command now, with statistics and propagation, and give back its reply."""

    @property
    def is_in_transaction(self) -> bool:
        """Whether EXEC runs: what it has changed so far is not propagated yet."""

    def propagate(self, db_index: int, request: Argv) -> None:
        """Propagate what no client asked for, at its place among what commands propagate."""

    def propagate_message(self, request: Argv) -> None:
        """Send to replicas what changes no data (PUBLISH), at its place among the rest."""

    def settle_propagation(self) -> None:
        """Hand on what was collected so far: the role is about to change."""

    def serve_ready_keys(self) -> None:
        """Run the retries of the clients that wait for keys on the ready list."""

    def wake(self, client: Client) -> None:
        """Run the command of a client again, if it waits: it may be answered, or wait on."""

    def unblock(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client with `reply` and let it go on with its next request."""

    def account(
        self, client: Client, command: Command, argv: Argv, handler: Handler | None
    ) -> Reply:
        """As `run`, with a handler of one's own; a long reply comes in parts."""

    def run_with_pauses(self, client: Client, argv: Argv, work: Callable[[], Reply]) -> Reply:
        """The reply of `work`, which may call `pause_script`; a Block if it has."""

    def pause_script(self) -> None:
        """Let the loop go on for a while, in the midst of the script that runs."""

    def run_held_back(self, client: Client, command: Command, argv: Argv, keeps: int) -> Reply:
        """As `run`; of what it propagates only that which redis.set_repl(`keeps`) lets pass."""
