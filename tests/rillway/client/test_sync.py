"""The client beside both servers: RESP2 and RESP3, bytes and text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from rillway.client import Entry, PartitionedStream, Stream
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration

ORDERS = PartitionedStream("orders", partitions=4, key_field="who")


@pytest.fixture(params=itertools.product([2, 3], [False, True]), ids=str)
def client(request: pytest.FixtureRequest, port: int) -> Iterator[Any]:
    protocol, decoded = request.param
    with redis.Redis(port=port, protocol=protocol, decode_responses=decoded) as client:
        yield client


@pytest.fixture
def stream(client: Any) -> Stream:
    stream: Stream = ORDERS.on(client)
    return stream


def numbers(entries: list[Entry]) -> list[int]:
    return [
        int(value)
        for entry in entries
        for name, value in entry.fields.items()
        if name in ("n", b"n")
    ]


def test_what_is_added_is_in_the_partition_of_its_key(stream: Stream, client: Any) -> None:
    first = stream.add("anna", {"n": 1})
    second, third = stream.add_many([("anna", {"n": 2}), ("bob", {"n": 3})])
    assert stream.length() == 3
    name = ORDERS.stream(ORDERS.partition("anna"))
    assert [entry_id for entry_id, _ in client.xrange(name)] == [first, second]
    assert [entry.id for entry in stream.history("bob")] == [third]
    assert stream.history("anna", start=f"({text(first)}")[0].id == second
    assert stream.history("anna", count=1)[0].id == first


def text(entry_id: Any) -> str:
    return str(entry_id.decode() if isinstance(entry_id, bytes) else entry_id)


def test_a_partition_is_trimmed_and_not_created(stream: Stream) -> None:
    assert stream.add("anna", {"n": 0}, nomkstream=True) is None
    for number in range(5):
        stream.add("anna", {"n": number}, maxlen=2, approximate=False)
    assert numbers(stream.history("anna")) == [3, 4]


def test_a_group_reads_and_acknowledges_all_partitions(stream: Stream) -> None:
    billing = stream.group("billing", "me")
    assert (billing.create(), billing.create()) == (4, 0)
    assert billing.read() == []
    stream.add_many((f"k{number}", {"n": number}) for number in range(20))
    entries = billing.read(block_ms=1_000)
    assert sorted(numbers(entries)) == list(range(20))
    assert stream.group("billing", "other").read() == []
    assert billing.ack(*entries[:5]) == 5
    assert billing.pending() == 15
    other = stream.group("billing", "other")
    assert sorted(numbers(other.claim(0, count=20))) == sorted(numbers(entries[5:]))
    assert other.claim(60_000) == []


def test_iterating_begins_with_what_is_pending(stream: Stream) -> None:
    billing = stream.group("billing", "me")
    billing.create()
    stream.add_many((f"k{number}", {"n": number}) for number in range(30))
    billing.read(count=3)
    again = stream.group("billing", "me")
    handled = []
    for entry in again:
        handled += numbers([entry])
        again.ack(entry)
        if len(handled) == 30:
            break
    assert sorted(handled) == list(range(30))
    assert again.pending() == 0


def test_a_key_that_is_no_stream_is_an_error(stream: Stream, client: Any) -> None:
    client.set(ORDERS.stream(2), "taken")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        stream.length()


def test_a_message_that_is_sent_again_is_added_once(rillway_server: RunningServer) -> None:
    with redis.Redis(port=rillway_server.port) as client:
        client.flushall()
        stream = ORDERS.on(client)
        ids = {stream.add("anna", {"n": 1}, idmp=("shop", "order-1")) for _ in range(2)}
        again = [stream.add_many([("bob", {"n": 2})], idmpauto="shop") for _ in range(2)]
        assert (len(ids), again[0] == again[1], stream.length()) == (1, True, 2)
