"""server/metrics/streams.py: streams, groups, consumers."""

from __future__ import annotations

import re

import pytest

from server.inprocess.server import InProcessServer
from server.metrics.streams import Choice
from storage.entries.entry_id import MAX_ID
from storage.stream import Stream
from tests.server.metrics.pages import labels_of, page_of, samples_of, value

NOW_MS = 1_700_000_000_000
ORDERS = {"db": "db0", "stream": "orders"}
MAILERS = {**ORDERS, "group": "mailers"}
ANNA = {**MAILERS, "consumer": "anna"}


def delivered(**directives: str) -> InProcessServer:
    """Three entries, one of them delivered; ten seconds have passed since."""
    server = InProcessServer(now_ms=NOW_MS, seed=0, **directives)
    client = server.connect()
    for _ in range(3):
        client.execute("XADD", "orders", "*", "item", "lamp")
    client.execute("XGROUP", "CREATE", "orders", "mailers", "0")
    server.advance(4_000)
    client.execute("XREADGROUP", "GROUP", "mailers", "anna", "COUNT", 1, "STREAMS", "orders", ">")
    server.advance(6_000)
    return server


def test_a_stream_is_described() -> None:
    samples = samples_of(delivered())
    assert value(samples, "redis_stream_length", **ORDERS) == 3
    assert value(samples, "redis_stream_groups", **ORDERS) == 1
    assert value(samples, "redis_stream_entries_added_total", **ORDERS) == 3
    assert value(samples, "redis_stream_first_entry_id", **ORDERS) == NOW_MS
    assert value(samples, "redis_stream_last_entry_id", **ORDERS) == NOW_MS
    assert value(samples, "redis_stream_last_generated_id", **ORDERS) == NOW_MS
    assert (value(samples, "rillway_stream_memory_bytes", **ORDERS) or 0) > 100


def test_a_group_is_described() -> None:
    samples = samples_of(delivered())
    assert value(samples, "redis_stream_group_lag", **MAILERS) == 2
    assert value(samples, "redis_stream_group_messages_pending", **MAILERS) == 1
    assert value(samples, "redis_stream_group_entries_read", **MAILERS) == 1
    assert value(samples, "redis_stream_group_last_delivered_id", **MAILERS) == NOW_MS
    ages = {
        name: value(samples, f"rillway_stream_group_{name}_seconds", **MAILERS)
        for name in ("oldest_pending_age", "longest_idle_pending", "lag")
    }
    assert ages == {"oldest_pending_age": 10, "longest_idle_pending": 6, "lag": 10}


def test_policies_are_described_where_there_are_some() -> None:
    server = delivered()
    names = ("held", "redelivered_total", "dead_letters_total")

    def policies() -> list[float | None]:
        samples = samples_of(server)
        of_group = [value(samples, f"rillway_stream_group_{name}", **MAILERS) for name in names]
        return [value(samples, "rillway_stream_scheduled", **ORDERS), *of_group]

    assert policies() == [None, None, None, None]
    client = server.connect()
    client.execute("XADD", "orders", "DELAY", "60000", "*", "item", "later")
    client.execute(
        "XGROUP", "CONFIG", "orders", "mailers", "ACK-WAIT", "1000", "MAX-DELIVERIES", "2",
        "DEAD-LETTER", "dead", "MAX-PENDING", "1",
    )  # fmt: skip
    assert policies() == [1, 1, 0, 0]
    client.execute("XREADGROUP", "GROUP", "mailers", "bert", "STREAMS", "orders", ">")
    assert policies() == [1, 1, 1, 0]
    server.advance(1000)
    assert policies() == [1, 0, 1, 1]


def test_a_consumer_is_described() -> None:
    samples = samples_of(delivered())
    assert value(samples, "redis_stream_group_consumer_messages_pending", **ANNA) == 1
    assert value(samples, "redis_stream_group_consumer_idle_seconds", **ANNA) == 6


def test_ages_are_0_when_nothing_waits() -> None:
    server = delivered()
    client = server.connect()
    client.execute("XREADGROUP", "GROUP", "mailers", "anna", "STREAMS", "orders", ">")
    for number in range(3):
        client.execute("XACK", "orders", "mailers", f"{NOW_MS}-{number}")
    samples = samples_of(server)
    for name in ("oldest_pending_age", "longest_idle_pending", "lag"):
        assert value(samples, f"rillway_stream_group_{name}_seconds", **MAILERS) == 0


def test_what_is_not_known_has_no_sample() -> None:
    server = delivered()
    client = server.connect()
    client.execute("XADD", "plain", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "plain", "g", "0")
    client.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "plain", ">")
    client.execute("XADD", "plain", "2-1", "f", "v")
    client.execute("XDEL", "orders", f"{NOW_MS}-1")
    labels = {"db": "db0", "stream": "plain", "group": "g"}
    samples = samples_of(server)
    assert value(samples, "rillway_stream_group_oldest_pending_age_seconds", **labels) is None
    assert value(samples, "rillway_stream_group_lag_seconds", **labels) is None
    assert value(samples, "redis_stream_group_lag", **labels) == 1
    assert value(samples, "redis_stream_group_lag", **MAILERS) is None  # after XDEL


def test_an_empty_stream_has_no_first_entry() -> None:
    server = InProcessServer(NOW_MS)
    server.connect().execute("XGROUP", "CREATE", "orders", "mailers", "$", "MKSTREAM")
    samples = samples_of(server)
    assert value(samples, "redis_stream_length", **ORDERS) == 0
    assert value(samples, "redis_stream_first_entry_id", **ORDERS) is None


def test_clients_that_wait_are_counted() -> None:
    server = delivered()
    server.connect().execute("XREAD", "BLOCK", 0, "STREAMS", "orders", "$")
    assert value(samples_of(server), "rillway_stream_blocked_clients", **ORDERS) == 1


def filled(*keys: str | bytes, **directives: str) -> InProcessServer:
    server = InProcessServer(now_ms=NOW_MS, seed=0, **directives)
    client = server.connect()
    for key in keys:
        client.execute("XADD", key, "*", "f", "v")
    return server


def shown(server: InProcessServer) -> list[str]:
    return labels_of(samples_of(server), "redis_stream_length", "stream")


def omitted(server: InProcessServer, what: str = "streams") -> float | None:
    return value(samples_of(server), f"rillway_metrics_{what}_omitted")


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ("*", ["a:1", "a:2", "b:1"]),
        ("a:*", ["a:1", "a:2"]),
        ("a:* b:*", ["a:1", "a:2", "b:1"]),
        ("* !a:*", ["b:1"]),
        ("!b:*", ["a:1", "a:2"]),
        ("", []),
    ],
)
def test_patterns_choose_streams(patterns: str, chosen: list[str]) -> None:
    choice = Choice(patterns.split())
    assert [name for name in ("a:1", "a:2", "b:1") if choice(name.encode())] == chosen
    server = filled("a:1", "a:2", "b:1", metrics_streams=patterns)
    assert shown(server) == chosen
    assert omitted(server) == 0


def test_the_first_streams_are_shown_and_the_others_counted() -> None:
    server = filled(*(f"s{number}" for number in range(60)), metrics_max_streams="30")
    assert shown(server) == [f"s{number}" for number in range(30)]
    assert omitted(server) == 30
    server = filled("b", *(f"a{number}" for number in range(60)), metrics_max_streams="30",
                    metrics_streams="a*")  # fmt: skip
    assert shown(server) == [f"a{number}" for number in range(30)]
    assert omitted(server) == 30
    server = filled("a", "b", metrics_max_streams="0")
    assert (shown(server), omitted(server)) == ([], 2)


def test_streams_of_all_databases_are_shown_and_other_keys_are_not() -> None:
    server = filled("a")
    client = server.connect()
    client.execute("SET", "text", "x")
    client.execute("SELECT", 3)
    client.execute("XADD", "a", "*", "f", "v")
    assert labels_of(samples_of(server), "redis_stream_length", "db") == ["db0", "db3"]


def test_consumers_beyond_the_limit_are_counted() -> None:
    server = filled("orders", metrics_max_consumers="40")
    client = server.connect()
    for group in ("one", "two"):
        client.execute("XGROUP", "CREATE", "orders", group, "0")
        for number in range(30):
            client.execute("XGROUP", "CREATECONSUMER", "orders", group, f"c{number}")
    samples = samples_of(server)
    groups = labels_of(samples, "redis_stream_group_consumer_idle_seconds", "group")
    assert (groups.count("one"), groups.count("two")) == (30, 10)
    assert value(samples, "redis_stream_group_consumers", **{**ORDERS, "group": "two"}) == 30
    assert omitted(server, "consumers") == 20


def test_groups_are_at_most_ten_for_each_stream_that_is_allowed() -> None:
    server = filled("orders", metrics_max_streams="2")
    client = server.connect()
    for number in range(25):
        client.execute("XGROUP", "CREATE", "orders", f"g{number}", "0")
    assert len(labels_of(samples_of(server), "redis_stream_group_lag", "group")) == 20
    assert omitted(server, "groups") == 5


HOSTILE = [b'a"b', b"a\\b", b"a\nb", b"a\rb", b"a\x00b", b"\xff\xfe", b"", b" ", b"{}", b"x" * 1024,
           b'"} 1\nevil 2', "ü€😀".encode(), b"\xed\xa0\x80", b"\x1b[31m", b"# HELP"]  # fmt: skip


def test_no_name_breaks_the_page() -> None:
    server = filled(*HOSTILE)
    client = server.connect()
    for name in HOSTILE:
        client.execute("XGROUP", "CREATE", name, name, "0")
        client.execute("XREADGROUP", "GROUP", name, name, "STREAMS", name, ">")
    samples = samples_of(server)
    names = [name.decode("utf-8", "backslashreplace") for name in HOSTILE]
    for label in ("stream", "group", "consumer"):
        found = labels_of(samples, "redis_stream_group_consumer_idle_seconds", label)
        assert found == names


def test_names_that_are_written_alike_or_are_very_long_are_omitted() -> None:
    server = filled(b"\xff", b"\\xff", b"x" * 1025)
    client = server.connect()
    client.execute("XGROUP", "CREATE", b"\xff", b"\xff", "0")
    client.execute("XGROUP", "CREATE", b"\xff", b"\\xff", "0")
    client.execute("XGROUP", "CREATECONSUMER", b"\xff", b"\xff", b"x" * 1025)
    assert shown(server) == ["\\xff"]
    assert [omitted(server, what) for what in ("streams", "groups", "consumers")] == [2, 1, 1]


def test_keys_may_come_and_go_between_two_steps() -> None:
    from server.metrics.collection import Collection
    from tests.server.metrics.pages import parsed

    server = filled(*(f"s{number}" for number in range(100)))
    client = server.connect()
    collection = Collection(server.instance, NOW_MS, 1, 0.0)
    for number, _ in enumerate(collection.steps()):
        for key in (f"s{number % 100}", f"s{(number * 7) % 100}"):
            client.execute("DEL", key)
        client.execute("XADD", f"s{number % 50}", "*", "f", "v")
        if number == 40:
            client.execute("FLUSHALL")
    assert parsed(b"".join(collection.page.pieces()).decode())


def test_an_expired_stream_is_not_shown() -> None:
    server = filled("orders")
    server.connect().execute("PEXPIRE", "orders", 5)
    server.instance.now_ms += 10
    assert shown(server) == []


def count(server: InProcessServer, name: str, **labels: str) -> float | None:
    return value(samples_of(server), f"{name}_count", **labels)


OWN = "rillway_stream_group_delivery_latency_seconds"


def test_deliveries_are_counted_in_all_groups_and_in_chosen_ones() -> None:
    server = delivered(metrics_latency_groups="orders/mail*")
    assert count(server, "rillway_delivery_latency_seconds") == 1
    assert count(server, OWN, **MAILERS) == 0  # it counts from the first scrape on
    client = server.connect()
    client.execute("XREADGROUP", "GROUP", "mailers", "anna", "STREAMS", "orders", ">")
    samples = samples_of(server)
    assert value(samples, f"{OWN}_count", **MAILERS) == 2
    assert value(samples, f"{OWN}_sum", **MAILERS) == 20
    assert value(samples, f"{OWN}_bucket", **MAILERS, le="8.192") == 0
    assert value(samples, f"{OWN}_bucket", **MAILERS, le="16.384") == 2
    assert value(samples, "rillway_delivery_latency_seconds_sum") == 24
    client.execute("CONFIG", "SET", "metrics-latency-groups", "")
    assert count(server, OWN, **MAILERS) is None


def test_a_hundred_groups_at_most_have_a_histogram_of_their_own() -> None:
    server = filled("orders", metrics_latency_groups="*")
    client = server.connect()
    for number in range(120):
        client.execute("XGROUP", "CREATE", "orders", f"g{number}", "0")
    assert page_of(server).count(f"{OWN}_count") == 100


def test_waiting_times_are_those_that_the_journal_of_acknowledgements_has() -> None:
    server = InProcessServer(now_ms=NOW_MS)
    client = server.connect()
    for _ in range(21):
        client.execute("XADD", "orders", "*", "item", "lamp")
        server.advance(3)
    client.execute("XGROUP", "CREATE", "orders", "mailers", "0")
    client.execute("XCFGSET", "orders", "ACK-JOURNAL", "acks")
    for number in (1, 5, 10, 100):
        server.advance(250)
        client.execute("XREADGROUP", "GROUP", "mailers", "a", "COUNT", number, "STREAMS", "orders",
                       ">")  # fmt: skip
    for ms in range(NOW_MS, NOW_MS + 100):
        client.execute("XACK", "orders", "mailers", f"{ms}-0")
    journal = server.instance.databases[0].get(b"acks")
    assert isinstance(journal, Stream)
    waited = []
    for entry in journal.entries_of(list(journal.ids(0, MAX_ID))):
        assert entry is not None
        words = re.findall(rb"\$\d+\r\n([^\r]*)\r\n", entry)
        fields = dict(zip(words[1::2], words[2::2], strict=True))
        waited.append(int(fields[b"delivered"]) - int(fields[b"id"].split(b"-")[0]))
    latency = server.instance.stats.delivery_latency
    assert len(waited) == 21
    assert latency.cumulative()[-1] == 21
    assert latency.total_ms == sum(waited)
