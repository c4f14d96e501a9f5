"""What commands may ask of the process that runs them.

The server implements `Host` over the loop, sockets, clock and disk; unit tests and the in-process
server implement it over nothing. It is the only way out of `commands/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from commands.client import Client
    from commands.registry import Argv, Command, Reply


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


class Host(Protocol):
    """Services of the surrounding process."""

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

    def unsent_bytes(self, client: Client) -> int:
        """Output that has left `client.output` but that the client has not yet taken."""

    def resume_postponed(self) -> None:
        """CLIENT PAUSE ended or changed: run what was held back."""

    def pause(self, seconds: float) -> None:
        """Stop the whole server for a while (DEBUG SLEEP)."""

    def request_shutdown(self) -> None:
        """Stop the server at the end of this cycle (SHUTDOWN)."""

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

    def log(self, level: str, message: str) -> None:
        """Write to the server's log; levels as the `loglevel` directive names them."""


class Dispatcher(Protocol):
    """What handlers may ask of the dispatcher (server/dispatch.py)."""

    def run(self, client: Client, command: Command, argv: Argv) -> Reply:
        """Run a command now, with statistics and propagation, and give back its reply."""

    def propagate(self, db_index: int, request: Argv) -> None:
        """Propagate what no client asked for, at its place among what commands propagate."""

    def serve_ready_keys(self) -> None:
        """Run the retries of the clients that wait for keys on the ready list."""

    def unblock(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client with `reply` and let it go on with its next request."""
