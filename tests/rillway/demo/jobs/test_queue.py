"""The queue of the demo, on servers with and without policies."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from rillway.demo.jobs import queue as module
from rillway.demo.jobs.queue import Client, Queue
from rillway.demo.jobs.work import DEAD_LETTERS, GROUP, JOBS, LEDGER, Trouble
from rillway.demo.service import walk
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration


@pytest.fixture
def client(rillway_server: RunningServer) -> Iterator[Client]:
    with Client(port=rillway_server.port) as client:
        client.flushall()
        yield client


def test_the_server_looks_after_the_group(client: Client) -> None:
    assert Queue(client, Random(1), 40).has_policy
    policy = client.xinfo_policy(JOBS, GROUP)
    assert policy[b"ack-wait"] == module.ACK_WAIT_MS
    assert policy[b"max-deliveries"] == module.MAX_DELIVERIES
    assert policy[b"dead-letter"] == DEAD_LETTERS.encode()
    assert policy[b"key-field"] == b"customer"


def test_jobs_wait_that_are_for_later(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_SHARE", 1.0)
    queue = Queue(client, Random(1), 40)
    queue.add(0)
    queue.add(3)
    queue.add(2, Trouble.HANG)
    later, new, pending = queue.left
    assert (later + new, pending, queue.added) == (5, 0, 5)
    hanging = [fields for _, fields in walk(client, JOBS) if fields[b"trouble"] == b"hang"]
    assert [fields[b"job"] for fields in hanging] == [b"4", b"5"]
    assert all(float(fields[b"takes_ms"]) > module.ACK_WAIT_MS for fields in hanging)
    records = [(fields[b"first"], fields[b"last"]) for _, fields in walk(client, LEDGER)]
    assert records == [(b"1", b"3"), (b"4", b"5")]


def test_a_plain_server_has_no_policy_and_no_delays(redis_server: RunningServer) -> None:
    with Client(port=redis_server.port) as client:
        client.flushall()
        queue = Queue(client, Random(1), 40)
        assert not queue.has_policy
        queue.add(200)
        assert queue.left == (0, 200, 0)
