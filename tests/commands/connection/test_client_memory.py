"""What clients hold: the parts of one, and the running total over all."""

from __future__ import annotations

import random

import pytest

from commands.connection.client_memory import ClientMemory, class_of
from commands.core.client import Clients
from commands.core.gates import GATE_PRIMARY, GATE_REPLICA
from server.inprocess.server import InProcessClient, InProcessServer, Word


@pytest.fixture
def memory(server: InProcessServer) -> ClientMemory:
    return server.instance.feature(ClientMemory)


def exact(server: InProcessServer) -> int:
    """The sum over all clients as they are."""
    memory = server.instance.feature(ClientMemory)
    return sum(memory.bytes_of(one) for one in server.instance.feature(Clients).by_id.values())


def test_every_connection_counts_until_it_closes(
    server: InProcessServer, memory: ClientMemory
) -> None:
    clients = [server.connect() for _ in range(3)]
    assert memory.total_bytes == exact(server) == 3 * memory.bytes_of(clients[0].state) > 10_000
    for client in clients:
        client.execute("SUBSCRIBE", "c")
        client.disconnect()
    assert memory.total_bytes == memory.evictable_bytes == memory.replica_bytes == 0


@pytest.mark.parametrize(
    ("requests", "most", "end"),
    [
        ([("MULTI",), ("SET", "k", "x" * 10_000)], 10_500, [("DISCARD",)]),
        ([("WATCH", *(f"k{i}" for i in range(100)))], 25_000, [("UNWATCH",)]),
        ([("WATCH", "x" * 10_000)], 11_000, [("UNWATCH",)]),
        ([("SUBSCRIBE", *(f"c{i:01000}" for i in range(10)))], 12_500, [("UNSUBSCRIBE",)]),
        ([("PSUBSCRIBE", "x" * 10_000)], 11_000, [("PUNSUBSCRIBE",)]),
        (
            [
                ("HELLO", 3),
                ("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "x" * 10_000),
                ("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "y" * 10_000),
            ],
            22_000,
            [("CLIENT", "TRACKING", "OFF")],
        ),
    ],
    ids=["transaction", "watched keys", "a long watched key", "channels", "patterns", "prefixes"],
)
def test_what_requests_leave_is_counted(
    client: InProcessClient,
    memory: ClientMemory,
    requests: list[tuple[Word, ...]],
    most: int,
    end: list[tuple[Word, ...]],
) -> None:
    before = memory.total_bytes
    client.pipeline(*requests)
    memory.update(client.state)
    assert most * 0.7 < memory.total_bytes - before < most
    client.pipeline(*end)
    assert memory.total_bytes == before


def test_a_blocked_client_counts_with_its_places_in_queues(
    client: InProcessClient, memory: ClientMemory
) -> None:
    before = memory.total_bytes
    client.execute("BLPOP", *(f"k{i}" for i in range(100)), 0)
    memory.update(client.state)
    assert 15_000 < memory.total_bytes - before < 25_000


def test_bytes_that_are_no_request_yet_count_once_they_are_read(
    client: InProcessClient, memory: ClientMemory
) -> None:
    before = memory.total_bytes
    client.feed(b"*2\r\n$4\r\nECHO\r\n$10000\r\n" + b"x" * 5000)
    assert 5000 <= memory.total_bytes - before < 5100
    client.feed(b"x" * 5000 + b"\r\n")
    assert memory.total_bytes == before


def test_requests_behind_one_that_blocks_count(
    server: InProcessServer, memory: ClientMemory
) -> None:
    client, other = server.connect(), server.connect()
    before = memory.total_bytes
    client.pipeline(("BLPOP", "l", 0), *[("PING",)] * 100)
    client.feed(b"PING\r\n" * 100)
    memory.update(client.state)
    held = memory.total_bytes - before
    assert held > 1000
    assert f"qbuf={client.state.query_buffer_bytes}".encode() in (other.execute("CLIENT", "LIST"))
    other.execute("RPUSH", "l", "x")
    assert memory.total_bytes == before


def test_output_that_the_peer_does_not_take_counts(
    client: InProcessClient, memory: ClientMemory
) -> None:
    before = memory.total_bytes
    client.unsent = 100_000
    memory.set_slow(client.state, is_slow=True)
    assert memory.total_bytes - before == 100_000
    client.unsent = 70_000
    memory.look_at_slow()
    assert memory.total_bytes - before == 70_000
    client.unsent = 0
    memory.set_slow(client.state, is_slow=False)
    assert memory.total_bytes == before and not memory.slow


def test_a_client_that_closes_is_not_slow_any_more(
    client: InProcessClient, memory: ClientMemory
) -> None:
    memory.set_slow(client.state, is_slow=True)
    client.disconnect()
    assert not memory.slow
    memory.set_slow(client.state, is_slow=True)  # the transport may say so afterwards
    assert not memory.slow and memory.total_bytes == 0


def test_replicas_primaries_and_spared_clients_cannot_be_evicted(
    server: InProcessServer, memory: ClientMemory
) -> None:
    clients = [server.connect() for _ in range(4)]
    one = memory.bytes_of(clients[0].state)
    assert memory.evictable_bytes == 4 * one
    clients[0].execute("CLIENT", "NO-EVICT", "ON")
    clients[1].state.gates |= GATE_REPLICA
    clients[2].state.gates |= GATE_PRIMARY
    memory.look_again([client.state for client in clients], 1)
    assert memory.total_bytes == 4 * one
    assert memory.evictable_bytes == memory.replica_bytes == one
    clients[0].execute("CLIENT", "NO-EVICT", "OFF")
    assert memory.evictable_bytes == 2 * one


def test_there_are_nineteen_size_classes() -> None:
    kib = 1024
    bounds = [32 * kib << step for step in range(18)]
    assert [class_of(bound - 1) for bound in bounds] == list(range(18))
    assert [class_of(bound) for bound in bounds] == list(range(1, 19))
    assert class_of(0) == 0 and class_of(1 << 40) == 18


def test_the_largest_is_of_the_highest_class_in_use(
    server: InProcessServer, memory: ClientMemory
) -> None:
    assert memory.largest() is None
    clients = [server.connect() for _ in range(3)]
    for client, unsent in zip(clients, (70_000, 20_000, 90_000), strict=True):
        client.unsent = unsent
        memory.update(client.state)
    clients[2].execute("CLIENT", "NO-EVICT", "ON")
    assert memory.largest() is clients[0].state
    clients[0].disconnect()
    assert memory.largest() is clients[1].state


def test_further_replies_are_added_until_the_next_count(
    client: InProcessClient, memory: ClientMemory
) -> None:
    before = memory.total_bytes
    client.state.output += [b"x" * 10, b"x" * 50_000, b"x" * 20_000]
    memory.add_output(client.state, 1)
    assert memory.total_bytes - before == memory.evictable_bytes - before == 70_000
    memory.update(client.state)
    assert memory.total_bytes - before == 70_010


def test_all_clients_are_looked_at_in_turns(server: InProcessServer, memory: ClientMemory) -> None:
    clients = [server.connect() for _ in range(100)]
    before = memory.total_bytes
    for client in clients:
        client.unsent = 10
    states = [client.state for client in clients]
    grown = []
    for _ in range(5):
        memory.look_again(states, 4)
        grown.append(memory.total_bytes - before)
    assert grown == [260, 520, 780, 1000, 1000]


def test_the_total_is_the_sum_whatever_clients_do(
    server: InProcessServer, memory: ClientMemory
) -> None:
    chance = random.Random(1)
    clients = [server.connect() for _ in range(5)]
    requests: list[tuple[Word, ...]] = [
        ("MULTI",), ("EXEC",), ("DISCARD",), ("WATCH", "a", "b"), ("UNWATCH",), ("GET", "a"),
        ("SET", "a", "1"), ("BLPOP", "l", "0"), ("RPUSH", "l", "x"), ("SUBSCRIBE", "c", "d"),
        ("UNSUBSCRIBE", "c"), ("PUBLISH", "c", "x" * 100), ("RESET",), ("HELLO", "3"),
        ("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "a"), ("CLIENT", "TRACKING", "OFF"),
        ("CLIENT", "PAUSE", "10", "WRITE"), ("CLIENT", "NO-EVICT", "ON"),
    ]  # fmt: skip
    for _ in range(500):
        index = chance.randrange(5)
        if chance.random() < 0.05:
            clients[index].disconnect()
            clients[index] = server.connect()
        clients[index].pipeline(*chance.choices(requests, k=3))
        server.advance(chance.randrange(5))
        memory.look_again([client.state for client in clients], 1)
        assert memory.total_bytes == exact(server)
