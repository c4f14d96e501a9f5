"""Replication as a whole: this server's role, its replicas, and its link to a primary.

The server holds one (`Service`, `InProcessServer`), commands reach it as `host.replication`:

    replication = Replication(instance, outside, children, files, send)
    cycle.before_output: replication.flush
    the timer, `hz` times a second: replication.tick

What each part does is in its own module; docs/architecture/replication.md shows how they hang
together.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.client import Client
from commands.instance import Instance
from commands.replication.state import Replica
from server.persistence.children import Children
from server.persistence.files import Files
from server.replication.feed import Feed
from server.replication.outside import Outside
from server.replication.replicas import Replicas
from server.replication.transfers import Transfers


class Replication:
    """Of one instance. `send(client, data)` puts bytes into the output of this cycle."""

    def __init__(
        self,
        instance: Instance,
        outside: Outside,
        children: Children,
        files: Files,
        send: Callable[[Client, bytes], object],
    ) -> None:
        self._instance = instance
        self._state = instance.replication
        self._send = send
        self.feed = Feed(instance, self.send)
        self.transfers = Transfers(instance, self.feed, outside, children, files)
        self.replicas = Replicas(instance, self.feed, self.transfers)

    def send(self, replica: Replica, data: bytes) -> None:
        """See `commands.host.Replication`."""
        if not replica.client.closed:
            self._send(replica.client, data)

    # -- the server calls ----------------------------------------------------------------------

    def flush(self) -> None:
        """A step of the cycle, before output leaves: what is new goes to the replicas."""
        self.feed.flush()

    def tick(self) -> None:
        """`hz` times a second."""
        self.replicas.tick()
        self.transfers.tick()

    def look(self) -> None:
        """A connection has taken what was sent."""
        if self._state.replicas:
            self.transfers.look()

    def apply_config(self, name: str) -> None:
        """Bring a changed directive into force."""
        if name.startswith("min-replicas-"):
            self.replicas.review()
        elif name == "repl-backlog-size" and self.feed.backlog is not None:
            self.feed.backlog.size_bytes = self._instance.config.repl_backlog_size

    def stop(self) -> None:
        """The server ends."""
        self.transfers.stop()

    # -- commands ask: for replicas ------------------------------------------------------------

    def check_can_serve(self, client: Client) -> None:
        """See `commands.host.Replication`."""
        self.replicas.check_can_serve(client)

    def synchronise(self, client: Client, replication_id: bytes, offset: int) -> None:
        """See `commands.host.Replication`."""
        self.replicas.synchronise(client, replication_id, offset)

    def synchronise_blindly(self, client: Client) -> None:
        """See `commands.host.Replication`."""
        self.replicas.synchronise_blindly(client)

    def acknowledged(self, replica: Replica) -> None:
        """See `commands.host.Replication`."""
        self.replicas.acknowledged(replica)
