"""The clients of one server, by ID. What a client leaves in the tables of features goes with it."""

from __future__ import annotations

from commands.connection.client_memory import ClientMemory
from commands.core.blocking.blocked_clients import BlockedClients
from commands.core.client import Client
from commands.core.instance import Instance
from commands.replication.replica_table import ReplicaTable


class Clients:
    """All clients, in the order in which they came."""

    def __init__(self, instance: Instance) -> None:
        self.by_id: dict[int, Client] = {}
        self._instance = instance
        self._memory = instance.feature(ClientMemory)
        self._next_id = 1

    def new(self) -> Client:
        """A client with the next ID, on database 0."""
        client = Client(self._instance, self._next_id, self._instance.databases[0])
        self._next_id += 1
        self.by_id[client.id] = client
        self._memory.update(client)
        return client

    def forget(self, client: Client) -> None:
        """The connection has closed: remove the client from every queue, subscription and table."""
        client.closed = True
        client.output.clear()
        if client.long_reply is not None:
            client.long_reply.end()
            client.long_reply = None
        self.by_id.pop(client.id, None)
        instance = self._instance
        instance.monitors.pop(client, None)
        replica = instance.feature(ReplicaTable).forget(client)
        if replica is not None:
            instance.host.log("notice", f"Connection with replica {replica.name} lost.")
        instance.feature(BlockedClients).unblock(client)
        instance.pubsub.forget(client)
        instance.tracking.forget(client)
        client.unwatch()
        self._memory.forget(client)
