"""Each program in examples/ does what it says, on a server of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

import rillway.testing
from rillway.testing import RillwayServer

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples"
LISTED = re.findall(r"\]\((\w+\.py)\)", (EXAMPLES / "README.md").read_text())


@pytest.fixture
def server() -> Iterator[RillwayServer]:
    with rillway.testing.server() as server:
        yield server


def run(*words: str) -> str:
    """What a program prints that must succeed."""
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=EXAMPLES,
        # Neither what the run around this one has set, nor a module that lies beside an example.
        env={name: os.environ[name] for name in os.environ if not name.startswith("PYTEST_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def pending(server: RillwayServer, stream: str, group: str) -> int:
    with redis.Redis.from_url(server.url) as client:
        return int(client.xpending(stream, group)["pending"])


def test_every_example_is_listed_and_tried_here() -> None:
    here = Path(__file__).read_text()
    assert sorted(LISTED) == sorted(path.name for path in EXAMPLES.glob("*.py"))
    for name in LISTED:
        assert f'"{name}"' in here


def test_orders_are_produced_and_consumed_once(server: RillwayServer) -> None:
    assert len(run("producer.py", server.url).splitlines()) == 3
    printed = run("consumer.py", server.url)
    assert printed == (
        "alice: lamp costs 49.00\nalice: chair costs 120.00\nalice: lamp costs 49.00\n"
    )
    assert pending(server, "orders", "billing") == 0
    assert run("consumer.py", server.url, "bob") == ""


def test_a_consumer_begins_with_what_it_has_not_acknowledged(server: RillwayServer) -> None:
    run("producer.py", server.url)
    with redis.Redis.from_url(server.url) as client:
        client.xgroup_create("orders", "billing", id="0")
        client.xreadgroup("billing", "alice", {"orders": ">"}, count=2)
    assert len(run("consumer.py", server.url).splitlines()) == 3
    assert pending(server, "orders", "billing") == 0


def test_two_consumers_share_what_was_produced_with_asyncio(server: RillwayServer) -> None:
    assert run("producer_async.py", server.url).startswith("100 orders, up to ")
    printed = run("consumer_async.py", server.url)
    shipped = re.fullmatch(r"alice shipped (\d+) orders, bob (\d+)\n", printed)
    assert shipped is not None, printed
    assert int(shipped[1]) + int(shipped[2]) == 100
    assert pending(server, "orders", "shipping") == 0


def test_what_fails_three_times_is_put_aside(server: RillwayServer) -> None:
    lines = run("retries.py", server.url).splitlines()
    assert lines[-1] == "2 paid, 1 put aside in payments:dead"
    with redis.Redis.from_url(server.url) as client:
        ((_, dead),) = client.xrange("payments:dead")
    assert dead[b"amount"] == b"a lot"


@pytest.mark.pipeline
@pytest.mark.thorough
def test_spark_writes_the_total_of_each_item(server: RillwayServer) -> None:
    run("producer.py", server.url)
    run("spark_totals.py", server.url)
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        totals = [fields for _, fields in client.xrange("totals")]
    assert sorted(totals, key=lambda total: str(total["item"])) == [
        {"item": "chair", "total": "120.00", "orders": "1"},
        {"item": "lamp", "total": "98.00", "orders": "2"},
    ]


def test_the_test_suite_passes() -> None:
    printed = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "test_orders.py")
    assert "3 passed" in printed
