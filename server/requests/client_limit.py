"""The memory limit of clients: closes the largest while they hold more than `maxmemory-clients`.

Checked before each request of a client, and at the end of cycles. Clients are closed from the
largest size class down, whichever comes first within a class; a client may close itself, and then
gets no reply. Replicas, primaries and clients under CLIENT NO-EVICT neither count nor are closed.

Source: Redis 8.2.
"""

from __future__ import annotations

from commands.connection.client_list import logged_client
from commands.connection.client_memory import ClientMemory
from commands.core.client import Client
from commands.core.gates import GATE_CLIENT_MEMORY
from commands.core.instance import Instance

# With less, clients could hardly send a request.
LEAST_BYTES = 128 * 1024


class ClientLimit:
    """Keeps the clients of one instance within their memory limit."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._memory: ClientMemory = instance.feature(ClientMemory)
        self._limit_bytes = 0
        # The client that ran last, and how many of its replies are counted.
        self._client: Client | None = None
        self._replies = 0

    def look_up_settings(self) -> None:
        """Read the limit from the configuration."""
        instance, config = self._instance, self._instance.config
        self._limit_bytes = limit_bytes(config.maxmemory_clients, config.maxmemory)
        instance.set_gate(GATE_CLIENT_MEMORY, is_shut=self._limit_bytes > 0)

    def check_before(self, client: Client) -> None:
        """Check before a request of `client`, whose replies so far may be long."""
        memory, output = self._memory, client.output
        if client is not self._client:
            self._client = client
            memory.update(client)
        elif len(output) > self._replies:
            memory.add_output(client, self._replies)
        self._replies = len(output)
        self._check()

    def check_after(self) -> None:
        """Check at the end of a cycle."""
        self._client = None
        if self._limit_bytes:
            self._check()

    def _check(self) -> None:
        memory, limit = self._memory, self._limit_bytes
        if memory.evictable_bytes < limit:
            return
        memory.look_at_slow()
        while memory.evictable_bytes >= limit:
            client = memory.largest()
            assert client is not None
            memory.update(client)  # it may have become smaller
            if client is memory.largest():
                self._evict(client)
                assert client.closed

    def _evict(self, client: Client) -> None:
        instance = self._instance
        instance.stats.evicted_clients += 1
        line = f"Evicting client: {logged_client(client)}"
        instance.host.log_bounded("notice", "Evicting client", line)
        client.connection.abort()


def limit_bytes(value: int, maxmemory: int) -> int:
    """The limit for a value of `maxmemory-clients`; 0: none, as is a share of no `maxmemory`."""
    size = value if value >= 0 else -value * maxmemory // 100
    return max(size, LEAST_BYTES) if size else 0
