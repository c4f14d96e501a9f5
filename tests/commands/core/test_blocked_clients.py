"""commands/core/blocked_clients.py: queues, ready keys, deadlines, times to wake."""

from __future__ import annotations

from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client, ClientEvent
from server.inprocess.server import InProcessServer


def waiter(server: InProcessServer, *keys: bytes, deadline_ms: int = 0) -> Client:
    client = server.connect().state
    block = Block(list(keys), 0, lambda _: b"", b"*-1\r\n")
    server.instance.feature(BlockedClients).block(client, block, deadline_ms, [b"XREAD"])
    return client


def test_waiters_stand_in_the_order_in_which_they_blocked() -> None:
    server = InProcessServer()
    first, second = waiter(server, b"k"), waiter(server, b"k")
    assert list(server.instance.feature(BlockedClients).waiters[0, b"k"]) == [first, second]


def test_a_waiter_that_is_requeued_goes_to_the_tail_of_each_key() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    first = waiter(server, b"a", b"b")
    second, third = waiter(server, b"a"), waiter(server, b"b")
    blocked.requeue(first, blocked.clients[first].block)
    assert list(blocked.waiters[0, b"a"]) == [second, first]
    assert list(blocked.waiters[0, b"b"]) == [third, first]


def test_an_unblocked_client_is_in_no_queue() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    client = waiter(server, b"a", b"b", b"a", deadline_ms=5)
    blocked.unblock(client)
    blocked.unblock(client)
    assert not blocked.waiters and not blocked.clients
    assert blocked.next_alarm_ms() is None


def test_deadlines_come_in_order_and_only_of_those_who_wait() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    late, soon = waiter(server, b"a", deadline_ms=30), waiter(server, b"a", deadline_ms=10)
    served = waiter(server, b"a", deadline_ms=5)
    waiter(server, b"a")
    blocked.unblock(served)
    assert blocked.next_alarm_ms() == 10
    assert blocked.take_expired(9) == []
    assert blocked.take_expired(30) == [soon, late]


def test_deadlines_of_served_clients_do_not_pile_up() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    client = server.connect().state
    block = Block([b"k"], 1, lambda _: b"", b"")
    for deadline_ms in range(1, 1000):
        blocked.block(client, block, deadline_ms, [b"XREAD"])
        blocked.unblock(client)
        client.enter(ClientEvent.GO_ON)
    assert len(blocked._deadlines) <= 66


def test_a_waiter_is_woken_at_the_time_of_its_last_decision() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    client = server.connect().state
    early, late = (Block([b"k"], 0, lambda _: b"", b"", wake_ms=ms) for ms in (10, 20))
    blocked.block(client, early, 15, [b"XREADGROUP"])
    assert blocked.next_alarm_ms() == 10
    blocked.wait_on(client, late)
    assert blocked.next_alarm_ms() == 15
    assert blocked.take_woken(19) == []
    assert blocked.take_woken(20) == [client]
    blocked.unblock(client)
    assert blocked.next_alarm_ms() is None


def test_who_wakes_for_nothing_keeps_the_place() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    first, second = waiter(server, b"k"), waiter(server, b"k")
    blocked.wait_on(first, Block([b"k"], 0, lambda _: b"", b"", wake_ms=10))
    assert list(blocked.waiters[0, b"k"]) == [first, second]


def test_times_to_wake_do_not_pile_up() -> None:
    server = InProcessServer()
    blocked = server.instance.feature(BlockedClients)
    client = waiter(server, b"k")
    for wake_ms in range(1000, 2000):
        blocked.requeue(client, Block([b"k"], 0, lambda _: b"", b"", wake_ms=wake_ms))
    assert len(blocked._wakes) <= 67
