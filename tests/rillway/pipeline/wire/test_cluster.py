"""The source and the sink on a cluster of three nodes: Rillway, Redis 7.0 and Redis 8.2."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType
from redis.crc import key_slot

from rillway.client.partitions import Partitions
from rillway.net import routing
from rillway.pipeline.spark.group_formats import RedisStreamsGroups, RedisStreamsPending
from rillway.pipeline.spark.options import sink_options
from rillway.pipeline.spark.writer import EntryWriter
from rillway.pipeline.wire import cluster as pipeline_cluster
from rillway.pipeline.wire.cluster import Cluster, beside, connect, slot_of, tag_of_slot
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from tests.rillway.pipeline.scene import add, batch_reader, joined, read_all, stream_reader
from tests.rillway.pipeline.three_nodes import emptied, move, three_nodes
from tests.support.programs import cluster as nodes

pytestmark = pytest.mark.integration

ALL = ReadAllAvailable()
ORDERS = Partitions("orders", 8)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[nodes.Cluster]:
    yield from three_nodes(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def link(made: nodes.Cluster) -> Iterator[Connection]:
    yield from emptied(made)


def fill(link: Connection, each: int) -> dict[str, list[str]]:
    """`each` entries in every partition; their IDs by stream."""
    ids = [f"{number}-0" for number in range(1, each + 1)]
    for stream in ORDERS.streams:
        add(link, stream, ids)
    return dict.fromkeys(ORDERS.streams, ids)


def rows_of(link: Connection, streams: list[str], name: bytes = b"n") -> dict[str, list[int]]:
    """The numbers in the field, in the order of each stream."""
    found: dict[str, list[int]] = {}
    for stream in streams:
        entries = link.call("XRANGE", stream, "-", "+")
        found[stream] = [int(fields[fields.index(name) + 1]) for _, fields in entries]
    return found


# -- the client ----------------------------------------------------------------------------------


def test_requests_go_to_the_nodes_of_their_keys(link: Connection, made: nodes.Cluster) -> None:
    assert isinstance(link, Cluster)
    keys = [f"k{number}" for number in range(50)]
    assert link.call_all([("SET", key, key) for key in keys]) == [b"OK"] * 50
    move(made, slot_of("k7"))
    assert link.call_all([("GET", key) for key in keys]) == [key.encode() for key in keys]
    assert len({link.place(key) for key in keys}) == len(link.nodes()) == 3
    with pytest.raises(ServerError, match="WRONGTYPE"):
        link.call("XADD", "k7", "*", "a", "b")


def test_a_single_server_stays_a_plain_connection(rillway_link: Connection) -> None:
    with connect(rillway_link.url) as found:
        assert type(found) is Connection
        assert (found.of("k"), found.nodes(), found.slot("k")) == (found, [found], None)


def test_an_answer_that_passes_is_waited_for(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "PAUSE_S", 0.0)
    error = ServerError("TRYAGAIN Multiple keys request during rehashing of slot")
    now = time.monotonic()
    assert link.redirected("k", error, now) is link.of("k")
    with pytest.raises(ServerError, match="TRYAGAIN"):
        link.redirected("k", error, now - routing.PATIENCE_S - 1)
    with pytest.raises(ServerError, match="ERR"):
        link.redirected("k", ServerError("ERR no"), now)


@pytest.mark.parametrize("key", ["orders", "orders:{7}", "a{}b", "{c", "d}", "{{e}f}", "g}{h}", ""])
def test_a_key_beside_another_is_in_its_slot(key: str) -> None:
    assert slot_of(beside("__lease:", key)) == slot_of(key)
    others = ["{orders}", "7", "{7}", "7:orders:{7}", "orders"]
    assert beside("__lease:", key) not in [beside("__lease:", one) for one in others if one != key]


def test_a_cluster_is_reached_without_the_node_that_the_url_names(
    link: Connection, made: nodes.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"redis://{made.nodes[0].address}"
    connect(url).close()
    real = Connection

    def connection(asked: str) -> Connection:
        if asked == url:
            raise ConnectionLost(asked)
        return real(asked)

    monkeypatch.setattr(pipeline_cluster, "Connection", connection)
    with connect(url) as found:
        assert isinstance(found, Cluster) and found.url != url
        assert found._first.call("CLUSTER", "SLOTS")
    monkeypatch.setattr(pipeline_cluster, "_others", {})
    with pytest.raises(ConnectionLost):
        connect(url)


@pytest.mark.parametrize("slot", [0, 1, 8191, 16_383])
def test_a_tag_puts_a_key_into_a_slot(slot: int) -> None:
    assert key_slot(f"__spark:ledger:{{{tag_of_slot(slot)}}}:w{{x}}:3".encode()) == slot


# -- the source ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [{"stream": "orders", "partitions": 8}, {"streamPattern": "orders:*"}]
)
def test_all_partitions_are_read(link: Connection, names: dict[str, Any]) -> None:
    fill(link, 20)
    reader = batch_reader(link, **names)
    assert joined(read_all(reader, reader.partitions())).count("20-0") == 8


def test_a_query_goes_on_when_slots_have_moved_between_batches(
    link: Connection, made: nodes.Cluster
) -> None:
    ids = fill(link, 5)[ORDERS.stream(0)]
    reader = stream_reader(link, stream="orders", partitions=8, groupName="q")
    end = reader.latestOffset({}, ALL)
    assert joined(read_all(reader, reader.partitions({}, end))) == ids * 8
    for partition in (0, 3):
        move(made, slot_of(ORDERS.stream(partition)))
    for stream in ORDERS.streams:
        add(link, stream, ["6-0"])
    following = reader.latestOffset(end, ALL)
    assert joined(read_all(reader, reader.partitions(end, following))) == ["6-0"] * 8
    groups = [link.call("XINFO", "GROUPS", stream) for stream in ORDERS.streams]
    assert [group[0][1] for group in groups] == [b"__spark:q"] * 8


def test_a_slot_that_moves_while_it_is_read_is_read_on_where_it_is(
    link: Connection, made: nodes.Cluster
) -> None:
    stream = ORDERS.stream(1)
    ids = [f"{number}-0" for number in range(1, 2001)]
    add(link, stream, ids)
    reader = batch_reader(link, stream=stream, pageSize=10)
    (part,) = reader.partitions()
    mover = threading.Thread(target=move, args=(made, slot_of(stream)))
    mover.start()
    assert joined(read_all(reader, [part])) == ids
    mover.join()
    assert joined(read_all(reader, [part])) == ids


def test_a_limit_holds_over_all_nodes(link: Connection, made: nodes.Cluster) -> None:
    fill(link, 30)
    reader = stream_reader(link, stream="orders", partitions=8, maxEntriesPerTrigger=80)
    move(made, slot_of(ORDERS.stream(2)))
    end = reader.latestOffset({}, reader.getDefaultReadLimit())
    assert len(joined(read_all(reader, reader.partitions({}, end)))) == 80


def test_groups_and_pending_entries_of_all_nodes_are_tables(link: Connection) -> None:
    fill(link, 3)
    for stream in ORDERS.streams:
        link.call("XGROUP", "CREATE", stream, "g", "0")
        link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", stream, ">")
    options = CaseInsensitiveDict({"url": link.url, "streamPattern": "orders:*"})
    for kind, rows in ((RedisStreamsPending, 24), (RedisStreamsGroups, 8)):
        reader: Any = kind(options).reader(StructType())
        found = [len(each) for part in reader.partitions() for each in reader.read(part)]
        assert sum(found) == rows


# -- the sink ------------------------------------------------------------------------------------


def batches(rows: int, each: int = 500) -> Iterator[pa.RecordBatch]:
    for begin in range(0, rows, each):
        numbers = range(begin, min(begin + each, rows))
        yield pa.record_batch(
            {"n": [str(n) for n in numbers], "customer": [f"c{n % 40}" for n in numbers]}
        )


def sink(link: Connection, **options: Any) -> Any:
    named = {"url": link.url, "stream": "orders", "partitions": "8", "keyColumn": "customer"}
    return sink_options(named | {k: str(v) for k, v in options.items()}, streaming=False)


def expected(rows: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {stream: [] for stream in ORDERS.streams}
    for n in range(rows):
        found[ORDERS.stream(ORDERS.partition(f"c{n % 40}"))].append(n)
    return found


def test_rows_go_to_the_partitions_of_their_keys(link: Connection) -> None:
    written = EntryWriter(sink(link, maxlen=1000)).write(batches(2000))
    assert (written.entries, written.skipped) == (2000, 0)
    assert rows_of(link, ORDERS.streams) == expected(2000)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_slots_that_move_while_they_are_written_lose_and_repeat_nothing(
    link: Connection, made: nodes.Cluster, delivery: str
) -> None:
    ledger = ("w", 0, 0) if delivery == "exactly-once" else None
    more = {"delivery": delivery, "writeId": "w"} if ledger else {}
    options = sink(link, batchSize=50, **more)
    moved = threading.Event()

    def moving() -> None:
        for partition in (0, 1, 2, 5):
            move(made, slot_of(ORDERS.stream(partition)))
        moved.set()

    mover = threading.Thread(target=moving)
    given = 0

    def until_moved() -> Iterator[pa.RecordBatch]:
        nonlocal given
        for batch in batches(200_000, 400):
            given += len(batch)
            yield batch
            if moved.is_set() and given >= 4000:
                return

    mover.start()
    written = EntryWriter(options, ledger).write(until_moved())
    mover.join()
    assert written.entries == given
    assert rows_of(link, ORDERS.streams) == expected(given)
    if ledger:
        again = EntryWriter(options, ledger).write(batches(given, 400))
        assert (again.entries, again.skipped) == (0, given)
