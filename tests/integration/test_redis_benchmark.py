"""redis-benchmark runs on Rillway: all its own tests, and any command given.

It is a test of correctness: what was to be done was done, and no rate or latency is looked at.
redis-benchmark ends with an error message as soon as the server answers one.
"""

from __future__ import annotations

import csv
import io

import pytest

from tests.support.programs.redis_tools import run_tool
from tests.support.programs.servers import RunningServer
from tests.support.resp import parse

pytestmark = pytest.mark.integration

REQUESTS = 400
COLUMNS = "test rps avg_latency_ms min_latency_ms p50_latency_ms p95_latency_ms p99_latency_ms"
LRANGES = [f"LRANGE_{count} (first {count} elements)" for count in (100, 300, 500, 600)]
OWN_TESTS = [
    *("PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP"),
    *("SADD", "HSET", "SPOP", "ZADD", "ZPOPMIN", "LPUSH (needed to benchmark LRANGE)"),
    *LRANGES,
    "MSET (10 keys)",
]


def bench(server: RunningServer, *arguments: str | int) -> list[dict[str, str]]:
    """One row for each test that redis-benchmark reports; fails where it reports an error."""
    ran = run_tool(
        "redis-benchmark", "-p", server.port, "-n", REQUESTS, "-c", 5, "--csv", *arguments
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    for row in rows:
        assert list(row) == [*COLUMNS.split(), "max_latency_ms"], ran.stdout
        assert float(row["rps"]) > 0
    return rows


def number(server: RunningServer, *argv: str) -> int:
    with server.connect() as client:
        return int(parse(client.send(*argv)).text)


@pytest.mark.parametrize("options", [(), ("-3",), ("-P", 16)])
def test_its_own_tests_run(server: RunningServer, options: tuple[str | int, ...]) -> None:
    rows = bench(server, *options)
    assert [row["test"] for row in rows] == OWN_TESTS
    assert number(server, "GET", "counter:__rand_int__") >= REQUESTS
    assert number(server, "LLEN", "mylist") >= REQUESTS


def test_random_keys_are_spread(server: RunningServer) -> None:
    bench(server, "-t", "set", "-r", 100_000)
    assert REQUESTS * 0.9 < number(server, "DBSIZE") <= REQUESTS


def test_entries_with_random_values_are_added(server: RunningServer) -> None:
    rows = bench(server, "-r", 1_000, "-P", 8, "XADD", "s", "*", "f", "__rand_int__")
    assert [row["test"] for row in rows] == ["XADD s * f __rand_int__"]
    assert number(server, "XLEN", "s") == REQUESTS
    with server.connect() as client:
        entries = parse(client.send("XRANGE", "s", "-", "+")).items
    values = {entry.items[1].items[1].text for entry in entries}
    assert len(values) > 100 and all(len(value) == 12 for value in values)


@pytest.mark.parametrize("protocol", [(), ("-3",)])
def test_ranges_are_read(server: RunningServer, protocol: tuple[str, ...]) -> None:
    bench(server, "XADD", "s", "*", "f", "v")
    bench(server, *protocol, "-P", 4, "XRANGE", "s", "-", "+", "COUNT", "100")
    assert number(server, "XLEN", "s") == REQUESTS


def test_a_group_reads_every_entry_once(server: RunningServer) -> None:
    with server.connect() as client:
        assert client.send("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM") == b"+OK\r\n"
    bench(server, "XADD", "s", "*", "f", "v")
    bench(server, "XREADGROUP", "GROUP", "g", "a", "COUNT", "1", "STREAMS", "s", ">")
    with server.connect() as client:
        pending = parse(client.send("XPENDING", "s", "g"))
    assert pending.items[0].number == REQUESTS


def test_a_value_comes_from_standard_input(server: RunningServer) -> None:
    arguments = ("-p", server.port, "-n", 10, "-c", 2, "-q", "-x", "XADD", "s", "*", "f")
    ran = run_tool("redis-benchmark", *arguments, typed="from outside")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert number(server, "XLEN", "s") == 10
    with server.connect() as client:
        last = parse(client.send("XREVRANGE", "s", "+", "-", "COUNT", "1")).items[0]
    assert last.items[1].items[1].text == b"from outside"


def test_tracking_connections_are_served(server: RunningServer) -> None:
    bench(server, "--enable-tracking", "-3", "-t", "set,get")
    assert number(server, "STRLEN", "key:__rand_int__") == 3
