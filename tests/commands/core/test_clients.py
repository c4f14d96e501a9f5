"""commands/core/clients.py: the table of clients."""

from __future__ import annotations

from commands.core.blocking.blocked_clients import BlockedClients
from commands.core.clients import Clients
from server.inprocess.server import InProcessServer


def test_clients_have_ids_in_the_order_in_which_they_came() -> None:
    server = InProcessServer()
    assert [server.connect().state.id for _ in range(3)] == [1, 2, 3]
    assert list(server.instance.feature(Clients).by_id) == [1, 2, 3]


def test_a_client_that_leaves_is_in_no_table() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("WATCH", "k")
    client.execute("SUBSCRIBE", "c")
    other = server.connect()
    other.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    instance = server.instance
    client.disconnect()
    other.disconnect()
    assert not instance.feature(Clients).by_id and not instance.feature(BlockedClients).waiters
    assert not instance.watchers and not instance.pubsub.channels
