"""CLUSTER SLOT-STATS, and HOTKEYS by slot. The replies are those of Redis 8.2.3."""

from __future__ import annotations

import hiredis
import pytest

from commands.cluster.mode import ClusterMode
from protocol.request import key_slot
from server.cluster.core import Cluster
from server.cluster.nodes import Node
from server.inprocess.server import InProcessClient, InProcessServer

A = key_slot(b"a")
UNKNOWN = "unknown subcommand or wrong number of arguments for 'SLOT-STATS'. Try CLUSTER HELP."
Rows = dict[int, dict[str, int]]


@pytest.fixture
def raw(server: InProcessServer, node: Cluster) -> InProcessClient:
    return server.connect()


@pytest.fixture
def counting(raw: InProcessClient) -> InProcessClient:
    assert raw.execute("CONFIG", "SET", "cluster-slot-stats-enabled", "yes") == b"+OK\r\n"
    return raw


def stats(client: InProcessClient, *words: object) -> Rows:
    reader = hiredis.Reader(encoding="utf-8")
    reader.feed(client.execute("CLUSTER", "SLOT-STATS", *map(str, words)))
    return {
        slot: dict(zip(figures[::2], figures[1::2], strict=True)) for slot, figures in reader.gets()
    }


def of(client: InProcessClient, slot: int) -> dict[str, int]:
    return stats(client, "SLOTSRANGE", slot, slot)[slot]


def test_keys_are_always_counted(raw: InProcessClient) -> None:
    raw.execute("MSET", "a", "1", "{a}b", "1")
    assert of(raw, A) == {"key-count": 2}
    assert list(stats(raw, "SLOTSRANGE", 5, 7)) == [5, 6, 7]
    assert not raw.server.instance.monitors


def test_time_and_bytes_are_counted_when_asked_for(counting: InProcessClient) -> None:
    for words, came, left in (
        (["SET", "a", "2"], 27, 5),
        (["GET", "a"], 20, 7),
        (["MGET", "a", "{a}b"], 31, 16),
        (["LPUSH", "a", "3"], 29, 68),
        (["GET", "a", "b"], 0, 0),
        (["DEL", "a"], 20, 4),
        (["PUBLISH", "a", "x"], 0, 0),
        (["PING"], 0, 0),
    ):
        counting.execute("CONFIG", "RESETSTAT")
        counting.execute(*words)
        found = of(counting, A)
        assert (found["network-bytes-in"], found["network-bytes-out"]) == (came, left), words
        assert found["cpu-usec"] >= 0


def test_requests_of_transactions_count_and_those_of_scripts_do_not(
    counting: InProcessClient,
) -> None:
    for words in (["MULTI"], ["SET", "a", "3"], ["EXEC"]):
        counting.execute(*words)
    assert of(counting, A)["network-bytes-in"] == 27
    counting.execute("CONFIG", "RESETSTAT")
    counting.execute("EVAL", "return redis.call('set', 'a', 1)", "0")
    assert of(counting, A)["network-bytes-in"] == 0
    counting.execute("EVAL", "return redis.call('get', KEYS[1])", "1", "a")
    assert of(counting, A)["network-bytes-out"] == 7


def test_slots_come_in_the_order_of_a_metric(counting: InProcessClient) -> None:
    counting.execute("MSET", "a", "1", "{a}b", "1")
    counting.execute("SET", "b", "x" * 500)
    b = key_slot(b"b")
    assert list(stats(counting, "ORDERBY", "KEY-COUNT", "LIMIT", 3)) == [A, b, 0]
    assert list(stats(counting, "ORDERBY", "network-bytes-in", "LIMIT", 2)) == [b, A]
    assert list(stats(counting, "ORDERBY", "network-bytes-in", "ASC", "LIMIT", 2)) == [0, 1]
    assert len(stats(counting, "ORDERBY", "cpu-usec", "DESC")) == 16384


def test_only_slots_of_this_node_are_shown(raw: InProcessClient, node: Cluster) -> None:
    node.del_slots_range([b"0", b"16380"])
    assert list(stats(raw, "SLOTSRANGE", 0, 16383)) == [16381, 16382, 16383]
    assert list(stats(raw, "ORDERBY", "key-count", "LIMIT", 2)) == [16381, 16382]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("ORDERBY cpu-usec", "Unrecognized sort metric for ORDERBY."),
        ("ORDERBY foo", "Unrecognized sort metric for ORDERBY."),
        ("ORDERBY", "wrong number of arguments for 'cluster|slot-stats' command"),
        *(
            (
                f"ORDERBY key-count LIMIT {limit}",
                "Limit has to lie in between 1 and 16384 (maximum number of slots).",
            )
            for limit in ("0", "16385", "x")
        ),
        ("ORDERBY key-count LIMIT", "syntax error"),
        ("ORDERBY key-count foo", "syntax error"),
        ("ORDERBY key-count ASC DESC", "Multiple filters of the same type are disallowed."),
        ("SLOTSRANGE 5 4", "Start slot number 5 is greater than end slot number 4"),
        ("SLOTSRANGE 5 16384", "Invalid or out of range slot"),
        ("SLOTSRANGE x 4", "Invalid or out of range slot"),
        ("SLOTSRANGE 1", UNKNOWN),
        ("SLOTSRANGE 1 2 3", UNKNOWN),
        ("FOO 1 2", UNKNOWN),
    ],
)
def test_errors(raw: InProcessClient, words: str, error: str) -> None:
    reply = raw.execute("CLUSTER", "SLOT-STATS", *words.split())
    assert reply == f"-ERR {error}\r\n".encode()


# -- HOTKEYS -----------------------------------------------------------------------------------


def hot(client: InProcessClient) -> dict[str, object]:
    reader = hiredis.Reader(encoding="utf-8")
    reader.feed(client.execute("HOTKEYS", "GET"))
    (found,) = reader.gets()
    return dict(zip(found[::2], found[1::2], strict=True))


def test_only_keys_of_the_slots_are_counted(raw: InProcessClient) -> None:
    words = ("HOTKEYS", "START", "METRICS", "1", "NET", "SLOTS", "1", str(A))
    assert raw.execute(*words) == b"+OK\r\n"
    raw.execute("SET", "a", "1")
    raw.execute("SET", "b", "1")
    found = hot(raw)
    assert found["by-net-bytes"] == ["a", 32]
    assert found["selected-slots"] == [[A]]
    assert found["net-bytes-all-commands-selected-slots"] == 32
    assert "net-bytes-sampled-commands-selected-slots" not in found


def test_a_sample_of_some_slots_has_its_sums(raw: InProcessClient) -> None:
    raw.execute("HOTKEYS", "START", "METRICS", "1", "NET", "SAMPLE", "9", "SLOTS", "1", str(A))
    found = list(hot(raw))
    for name in ("sampled-commands-selected-slots-us", "all-commands-selected-slots-us"):
        assert name in found


def test_slots_are_shown_as_ranges(raw: InProcessClient, node: Cluster) -> None:
    slots = ["10", "5", "1", "0", "6", "2"]
    raw.execute("HOTKEYS", "START", "METRICS", "1", "CPU", "SLOTS", str(len(slots)), *slots)
    assert hot(raw)["selected-slots"] == [[0, 2], [5, 6], [10]]
    raw.execute("HOTKEYS", "STOP")
    raw.execute("HOTKEYS", "START", "METRICS", "1", "CPU")
    assert hot(raw)["selected-slots"] == [[0, 16383]]


@pytest.mark.parametrize(
    ("slots", "error"),
    [
        ("0", "SLOTS count must be between 1 and 16384"),
        ("2 0", "not enough slot numbers provided"),
        ("2 0 0", "duplicate slot number"),
        ("1 0 SLOTS 1 5", "SLOTS parameter already specified"),
        ("1 -1", "Invalid or out of range slot"),
        ("1 16384", "Invalid or out of range slot"),
        ("1 abc", "Invalid or out of range slot"),
        ("1 7", "slot 7 not handled by this node"),
    ],
)
def test_invalid_slots(
    raw: InProcessClient,
    node: Cluster,
    server: InProcessServer,
    other: Node,
    slots: str,
    error: str,
) -> None:
    node.set_slot_node(b"7", other.id.encode())
    raw.server.instance.feature(ClusterMode).refresh()
    reply = raw.execute("HOTKEYS", "START", "METRICS", "1", "CPU", "SLOTS", *slots.split())
    assert reply == f"-ERR {error}\r\n".encode()
