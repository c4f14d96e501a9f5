"""HOTKEYS: sessions, their options, and what they count."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode

ALL_SLOTS = [[0, 16383]]


def result(client: InProcessClient) -> dict[bytes, object]:
    reply = decode(client.execute("HOTKEYS", "GET"))
    assert isinstance(reply, list)
    (found,) = reply
    return dict(zip(found[::2], found[1::2], strict=True))


def start(client: InProcessClient, *words: object) -> None:
    request = ("HOTKEYS", "START", *map(str, words))
    assert client.execute(*request) == b"+OK\r\n"


def by(client: InProcessClient, metric: bytes) -> dict[bytes, int]:
    found = result(client)[metric]
    assert isinstance(found, list)
    return dict(zip(found[::2], found[1::2], strict=True))


def test_a_session_counts_what_keys_take_until_it_is_stopped(client: InProcessClient) -> None:
    start(client, "METRICS", 2, "CPU", "NET")
    client.execute("SET", "a", "x" * 1000)
    client.execute("GET", "a")
    client.execute("SET", "b", "1")
    client.execute("PING")
    assert client.execute("HOTKEYS", "STOP") == b"+OK\r\n"
    client.execute("SET", "c", "1")
    found = result(client)
    assert found[b"tracking-active"] == 0
    assert found[b"sample-ratio"] == 1
    assert found[b"selected-slots"] == ALL_SLOTS
    # Requests of 1029, 20 and 27 bytes, replies of 5, 1009 and 5.
    assert by(client, b"by-net-bytes") == {b"a": 2063, b"b": 32}
    assert list(by(client, b"by-cpu-time-us")) in ([b"a", b"b"], [b"b", b"a"])
    assert list(found) == [
        *(b"tracking-active", b"sample-ratio", b"selected-slots", b"all-commands-all-slots-us"),
        *(b"net-bytes-all-commands-all-slots", b"collection-start-time-unix-ms"),
        *(b"collection-duration-ms", b"total-cpu-time-user-ms", b"total-cpu-time-sys-ms"),
        *(b"total-net-bytes", b"by-cpu-time-us", b"by-net-bytes"),
    ]


def test_without_a_session_nothing_is_counted(client: InProcessClient) -> None:
    assert client.execute("HOTKEYS", "GET") == b"$-1\r\n"
    assert client.execute("HOTKEYS", "STOP") == b"$-1\r\n"
    assert client.execute("HOTKEYS", "RESET") == b"+OK\r\n"
    start(client, "METRICS", 1, "NET")
    assert client.server.instance.monitors
    client.execute("HOTKEYS", "STOP")
    assert not client.server.instance.monitors
    assert not client.server.instance.times_requests
    assert client.execute("HOTKEYS", "RESET") == b"+OK\r\n"
    assert client.execute("HOTKEYS", "GET") == b"$-1\r\n"


def test_a_session_under_way_is_neither_replaced_nor_forgotten(client: InProcessClient) -> None:
    start(client, "METRICS", 1, "CPU")
    second = client.execute("HOTKEYS", "START", "METRICS", "1", "CPU")
    assert second == b"-ERR hotkey tracking session already in progress\r\n"
    reset = client.execute("HOTKEYS", "RESET")
    assert reset == b"-ERR hotkey tracking session in progress, stop tracking first\r\n"
    client.execute("HOTKEYS", "STOP")
    start(client, "METRICS", 1, "NET")
    assert b"by-cpu-time-us" not in result(client)
    assert b"total-cpu-time-user-ms" not in result(client)


def test_a_session_ends_when_its_time_is_over(
    server: InProcessServer, client: InProcessClient
) -> None:
    start(client, "METRICS", 1, "NET", "DURATION", 2)
    server.advance(1500)
    client.execute("SET", "a", "1")
    assert result(client)[b"collection-duration-ms"] == 1500
    server.advance(1500)
    client.execute("SET", "b", "1")
    assert not server.instance.monitors
    found = result(client)
    assert (found[b"tracking-active"], found[b"collection-duration-ms"]) == (0, 2000)
    assert list(by(client, b"by-net-bytes")) == [b"a"]


def test_transactions_count_by_request_and_scripts_by_their_keys(client: InProcessClient) -> None:
    start(client, "METRICS", 1, "NET")
    for words in (["MULTI"], ["SET", "a", "1"], ["GET", "b"], ["EXEC"]):
        client.execute(*words)
    client.execute("EVAL", "redis.call('set', 'd', 1); return redis.call('get', KEYS[1])", "1", "c")
    assert list(by(client, b"by-net-bytes")) == [b"c", b"a", b"b"]


def test_several_keys_share_a_request_equally(client: InProcessClient) -> None:
    start(client, "METRICS", 1, "NET")
    client.execute("MSET", "a", "x" * 500, "b", "1")
    net = by(client, b"by-net-bytes")
    assert net[b"a"] == net[b"b"] > 250


def test_what_a_waiting_client_gets_counts(client: InProcessClient) -> None:
    waiter = client.server.connect()
    start(client, "METRICS", 1, "NET")
    waiter.execute("BLPOP", "q", "0")
    before = by(client, b"by-net-bytes")[b"q"]
    client.execute("RPUSH", "q", "x" * 2000)
    assert by(client, b"by-net-bytes")[b"q"] > before + 4000


def test_a_sample_is_counted_unscaled(client: InProcessClient) -> None:
    start(client, "METRICS", 1, "NET", "SAMPLE", 10)
    for _ in range(300):
        client.execute("SET", "a", "1")
    found = result(client)
    total = found[b"net-bytes-all-commands-all-slots"]
    assert isinstance(total, int)
    assert total // 20 < by(client, b"by-net-bytes")[b"a"] < total // 5
    assert found[b"sample-ratio"] == 10


def test_no_more_keys_than_asked_for_the_largest_first(client: InProcessClient) -> None:
    start(client, "METRICS", 1, "NET", "COUNT", 3)
    for number in range(20):
        client.execute("SET", f"k{number:02}", "x" * number)
    assert list(by(client, b"by-net-bytes")) == [b"k19", b"k18", b"k17"]


def test_of_a_long_key_its_beginning_is_kept(client: InProcessClient) -> None:
    start(client, "METRICS", 1, "NET")
    for end in "ab":
        client.execute("GET", "k" * 5000 + end)
    client.execute("GET", "k" * 1023)
    found = by(client, b"by-net-bytes")
    assert [len(key) for key in found] == [1024, 1023]


def test_with_resp3_the_result_is_a_map(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    start(client, "METRICS", 1, "CPU")
    assert client.execute("HOTKEYS", "GET").startswith(b"*1\r\n%10\r\n$15\r\ntracking-active\r\n")
    client.execute("HOTKEYS", "STOP")
    assert client.execute("HOTKEYS", "STOP") == b"_\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("", "METRICS parameter is required"),
        ("COUNT 5 METRICS 1 CPU", "METRICS parameter is required"),
        ("METRICS", "METRICS count must be > 0 and <= 2"),
        ("METRICS 0", "METRICS count must be > 0 and <= 2"),
        ("METRICS x CPU", "METRICS count must be > 0 and <= 2"),
        ("METRICS 3 CPU NET", "METRICS count must be > 0 and <= 2"),
        ("METRICS 2 CPU", "METRICS count does not match number of metric types provided"),
        ("METRICS 1 CPU NET", "syntax error"),
        ("METRICS 2 CPU cpu", "METRICS CPU defined more than once!"),
        ("METRICS 1 GPU", "METRICS no valid metrics passed. Supported: CPU|NET"),
        ("METRICS 1 CPU COUNT 0", "COUNT must be between 1 and 64"),
        ("METRICS 1 CPU COUNT 65", "COUNT must be between 1 and 64"),
        ("METRICS 1 CPU COUNT", "syntax error"),
        ("METRICS 1 CPU DURATION 0", "DURATION must be between 1 and 1000000"),
        ("METRICS 1 CPU SAMPLE 0", "SAMPLE ratio must be positive"),
        ("METRICS 1 CPU SLOTS 1 0", "SLOTS parameter cannot be used in non-cluster mode"),
        ("METRICS 1 CPU SOME 1", "syntax error"),
    ],
)
def test_invalid_options_begin_no_session(client: InProcessClient, words: str, error: str) -> None:
    reply = client.execute("HOTKEYS", "START", *words.split())
    assert reply == f"-ERR {error}\r\n".encode()
    assert not client.server.instance.monitors


def test_unknown_metrics_are_allowed_beside_known_ones(client: InProcessClient) -> None:
    start(client, "METRICS", 2, "GPU", "CPU")
    assert b"by-cpu-time-us" in result(client)
