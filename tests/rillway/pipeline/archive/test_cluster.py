"""The archive of a cluster of three nodes, Rillway, Redis 7.0 and 8.2, whose slots move."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rillway.client.partitions import Partitions
from rillway.net.routing import PAUSE_S
from rillway.pipeline import sql
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.engine import Engine, LocalEngine
from rillway.pipeline.archive.identity.recognition import OtherSource
from rillway.pipeline.archive.lease import lease_key
from rillway.pipeline.archive.repair.rows import check_live
from rillway.pipeline.archive.report.rounds import RoundOutcome
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.tasks import WriteTask, Written, run_task
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.query.history import open_history
from rillway.pipeline.replay.replayer import Replayer
from rillway.pipeline.wire.cluster import connect, slot_of
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from tests.rillway.pipeline.archive.scene import archived_ids, live_ids
from tests.rillway.pipeline.three_nodes import emptied, move, three_nodes
from tests.support.programs import cluster as nodes

pytestmark = pytest.mark.integration

ORDERS = Partitions("orders", 8)
# One without a tag, and names that look as if they had one.
STREAMS = [*ORDERS.streams, "clicks", "a{}b", "{c", "d}"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[nodes.Cluster]:
    yield from three_nodes(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def link(made: nodes.Cluster) -> Iterator[Connection]:
    yield from emptied(made)


def move_stream(made: nodes.Cluster, stream: str) -> None:
    move(made, slot_of(stream))


@contextmanager
def moving(made: nodes.Cluster, *streams: str) -> Iterator[None]:
    """One after the other, all the time."""
    ended = threading.Event()

    def keep_moving() -> None:
        # What waits for the end of a move looks as often.
        while not ended.wait(PAUSE_S):
            for stream in streams:
                move_stream(made, stream)

    thread = threading.Thread(target=keep_moving)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def add(link: Connection, first: int, last: int, streams: Sequence[str] = STREAMS) -> None:
    requests = [
        ("XADD", stream, f"{number}-0", "n", str(number))
        for number in range(first, last + 1)
        for stream in streams
    ]
    assert link.call_all(requests) == [words[2].encode() for words in requests]


def ids(first: int, last: int) -> list[str]:
    return [f"{number}-0" for number in range(first, last + 1)]


def a_round(
    link: Connection,
    table: ArchiveTable,
    hooks: Hooks | None = None,
    engine: Engine | None = None,
    **settings: object,
) -> RoundOutcome:
    chosen = ArchiverSettings(link.url, rules=TrimRules(), **settings)  # type: ignore[arg-type]
    return Archiver(table, engine or LocalEngine(), chosen, hooks).round(STREAMS)


def check(link: Connection, table: ArchiveTable, last: int) -> None:
    """Each entry once, in order, and in memory the last one."""
    for stream in STREAMS:
        assert archived_ids(table, stream) == ids(1, last), stream
        assert live_ids(link, stream) == ids(last, last), stream


def test_all_nodes_are_archived_while_slots_move(
    link: Connection, made: nodes.Cluster, table: ArchiveTable
) -> None:
    """One stream moves at each step of a round, and another one between the rounds."""
    add(link, 1, 20)
    assert len({link.place(stream) for stream in STREAMS}) == 3
    moving = iter(STREAMS * 4)
    hooks = Hooks(reached=lambda step: move_stream(made, next(moving)))
    outcome = a_round(link, table, hooks, batch_entries=100)
    assert not outcome.failures and outcome.archived == 20 * len(STREAMS)
    assert outcome.commits == 3
    check(link, table, 20)
    move_stream(made, next(moving))
    add(link, 21, 30)
    assert a_round(link, table, hooks).commits == 1
    check(link, table, 30)
    assert not a_round(link, table).commits
    assert check_live(link, table) == []
    for stream in STREAMS:
        assert table.state(stream) is not None
        assert slot_of(lease_key(table.group, stream)) == slot_of(stream)
    assert link.call_all([("EXISTS", lease_key(table.group, one)) for one in STREAMS]) == [0] * len(
        STREAMS
    )


def test_slots_move_all_the_time(
    link: Connection, made: nodes.Cluster, table: ArchiveTable
) -> None:
    """Parts of one stream are read by several tasks, and pages of it come from two nodes."""
    add(link, 1, 3_000, ["orders:{0}"])
    add(link, 1, 300, STREAMS[1:])
    with moving(made, "orders:{0}", "orders:{1}", "clicks"):
        for last in (310, 320, 330):
            outcome = a_round(link, table, engine=Tasks(), batch_entries=1_500)
            assert not outcome.failures
            add(link, last - 9, last, STREAMS[1:])
    add(link, 3_001, 3_001)
    assert not a_round(link, table).failures
    assert archived_ids(table, "orders:{0}") == ids(1, 3_001)
    for stream in STREAMS[1:]:
        assert archived_ids(table, stream) == [*ids(1, 330), "3001-0"]


def test_a_task_has_streams_of_one_node(link: Connection, table: ArchiveTable) -> None:
    add(link, 1, 10)
    tasks = Tasks()
    assert not a_round(link, table, engine=tasks).failures
    assert sorted(tasks.streams[0] + tasks.streams[1] + tasks.streams[2]) == sorted(STREAMS)
    for streams in tasks.streams:
        assert len({link.place(stream) for stream in streams}) == 1
        assert streams == sorted(streams)


class Tasks:
    """Several tasks in this process, as Spark's."""

    parallelism = 3

    def __init__(self) -> None:
        self.streams: list[list[str]] = []

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        self.streams += [[part.stream for part in task.parts] for task in tasks]
        return [run_task(task) for task in tasks]


def test_without_scripts_each_stream_is_watched_where_it_is(
    link: Connection, made: nodes.Cluster, table: ArchiveTable
) -> None:
    for node in link.nodes():
        node.call("ACL", "SETUSER", "quiet", "on", ">secret", "~*", "+@all", "-eval", "-evalsha")
    add(link, 1, 5)
    with connect(link.url.replace("//", "//quiet:secret@")) as quiet:
        moving = iter(STREAMS * 2)
        hooks = Hooks(reached=lambda step: move_stream(made, next(moving)))
        assert not a_round(quiet, table, hooks).failures
    check(link, table, 5)


def test_what_groups_need_stays_on_every_node(link: Connection, table: ArchiveTable) -> None:
    add(link, 1, 10)
    for stream in STREAMS:
        link.call("XGROUP", "CREATE", stream, "billing", "0")
        read = ("XREADGROUP", "GROUP", "billing", "one", "COUNT", 4, "STREAMS", stream, ">")
        link.of(stream).call(*read)
        link.call("XACK", stream, "billing", "1-0", "2-0")
    outcome = a_round(link, table)
    for stream in STREAMS:
        assert live_ids(link, stream) == ids(3, 10)
        (holdup,) = outcome.reports[stream].holdups
        assert (holdup.label, holdup.pending) == ("billing:pending", 2)


def test_a_stream_that_is_made_again_is_known_by_its_cluster(
    link: Connection, made: nodes.Cluster, table: ArchiveTable
) -> None:
    """Alone, and on another node: some server of the cluster is the one on record."""
    add(link, 1, 10)
    settings = ArchiverSettings(link.url)
    Archiver(table, LocalEngine(), settings).archive("clicks")
    link.call("DEL", "clicks")
    move_stream(made, "clicks")
    assert link.call("XADD", "clicks", "1-0", "n", "another") == b"1-0"
    report = Archiver(table, LocalEngine(), settings).archive("clicks")
    assert report.archived == 1 and "epoch 2 begins with the first entry" in report.notes[0]


def test_a_stream_of_another_server_is_refused(
    link: Connection, redis_link: Connection, table: ArchiveTable
) -> None:
    add(link, 1, 10)
    assert not a_round(link, table).failures
    redis_link.call("XADD", "clicks", "20-0", "n", "20")
    with pytest.raises(OtherSource):
        Archiver(table, LocalEngine(), ArchiverSettings(redis_link.url)).archive("clicks")


def test_a_query_holds_a_stream_whose_slot_moves(
    link: Connection, made: nodes.Cluster, table: ArchiveTable
) -> None:
    add(link, 1, 10)
    a_round(link, table)
    add(link, 11, 20)
    with open_history(link.url, "clicks", table.store.folder) as history:
        move_stream(made, "clicks")
        a_round(link, table)
        assert live_ids(link, "clicks") == ids(11, 20)
        found = [one for batch in history.batches() for one in batch.column("id").to_pylist()]
    assert found == ids(1, 20)
    a_round(link, table)
    check(link, table, 20)


@pytest.mark.parametrize(("into", "keeps_ids"), [("again", True), ("again:{7}", False)])
def test_a_replay_goes_on_while_its_slot_moves(
    link: Connection, made: nodes.Cluster, table: ArchiveTable, into: str, keeps_ids: bool
) -> None:
    add(link, 1, 2_500, ["clicks"])
    Archiver(table, LocalEngine(), ArchiverSettings(link.url)).archive("clicks")
    again = Replayer(link.url, table, "clicks", into, keeps_ids=keeps_ids)
    with moving(made, into):
        assert again.run().rows == 2_500
    entries = link.call("XRANGE", into, "-", "+")
    assert [int(words[1]) for _, words in entries] == list(range(1, 2_501))
    assert (live_ids(link, into) == ids(1, 2_500)) is keeps_ids
    assert again.run().before == 2_500


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("redis", ["written"]),
        pytest.param("redis", ["committed", "recognised"], marks=pytest.mark.thorough),
        pytest.param("rillway", ["written", "committed"], marks=pytest.mark.thorough),
    ],
)
def test_a_failover_while_it_is_archived(
    tmp_path: Path, kind: str, steps: list[str], table: ArchiveTable
) -> None:
    """A primary hands over, which drops a batch; then one dies after the other.

    The first one is that by which the cluster is reached.
    """
    made = nodes.Cluster(tmp_path / "nodes", [kind] * 6)
    try:
        made.create(replicas=1)
        url = f"redis://{made.nodes[0].address}"
        primary, dead = hand_over(made, made.nodes[0], table, url), None
        for number, step in enumerate(steps):
            if dead is not None:
                start_again(made, dead, primary)
            with connect(url) as link:
                add(link, 21 + 20 * number, 40 + 20 * number)
            dead, primary = primary, fail_over(made, primary, table, url, step)
        with connect(url) as link:
            check(link, table, 20 + 20 * len(steps))
    finally:
        made.close()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["redis", "rillway"])
def test_what_a_failover_loses_begins_an_epoch(
    tmp_path: Path, kind: str, table: ArchiveTable
) -> None:
    """Of the streams on the node that dies, and of no others."""
    made = nodes.Cluster(tmp_path / "nodes", [kind] * 6, "--cluster-replica-validity-factor", "0")
    try:
        made.create(replicas=1)
        dying = made.nodes[0]
        replica = made.replica_of(dying)
        url = f"redis://{dying.address}"
        with connect(url) as link:
            add(link, 1, 20)
            assert not a_round(link, table).failures
            lost = [stream for stream in STREAMS if link.of(stream).url.endswith(dying.address)]
            assert link.of(lost[0]).call("WAIT", 1, 10_000) == 1
            cut_off(dying, replica)
            add(link, 21, 30)
            assert not a_round(link, table).failures
        dying.kill()
        replica.client.config_set("masterauth", "")
        nodes.wait_until(
            lambda: (
                all(node.facts()["cluster_state"] == "ok" for node in made.nodes[1:])
                and replica.role() == "master"
            ),
            60,
        )
        with connect(url) as link:
            for stream in STREAMS:
                link.call("XADD", stream, "20-1" if stream in lost else "31-0", "n", "new")
            assert not a_round(link, table).failures
            assert check_live(link, table) == []
        for stream in STREAMS:
            new = "20-1" if stream in lost else "31-0"
            assert archived_ids(table, stream) == [*ids(1, 30), new]
            state = table.state(stream)
            assert state is not None and len(state.epochs) == (2 if stream in lost else 1)
    finally:
        made.close()


def cut_off(primary: nodes.Node, replica: nodes.Node) -> None:
    """The replica gets no more."""
    replica.client.config_set("masterauth", "wrong")
    primary.client.execute_command("CLIENT KILL TYPE replica")
    nodes.wait_until(lambda: replica.client.info("replication")["master_link_status"] == "down")


def hand_over(
    made: nodes.Cluster, primary: nodes.Node, table: ArchiveTable, url: str
) -> nodes.Node:
    """To its replica, between plan and read; that."""
    replica = made.replica_of(primary)

    def is_handed_over() -> bool:
        """A node gives up after five seconds, and is asked again."""
        if replica.role() != "master":
            replica.client.execute_command("CLUSTER FAILOVER")
            with suppress(AssertionError):
                nodes.wait_until(lambda: replica.role() == "master", 10)
        return (replica.role(), primary.role()) == ("master", "slave")

    def reached(here: str) -> None:
        if here == "planned" and replica.role() != "master":
            nodes.wait_until(is_handed_over, 60)

    with connect(url) as link:
        add(link, 1, 20)
        assert not a_round(link, table, Hooks(reached=reached)).failures
    assert replica.role() == "master"
    nodes.wait_until(lambda: made.knows_replica(replica, primary))
    return replica


def fail_over(
    made: nodes.Cluster, dying: nodes.Node, table: ArchiveTable, url: str, step: str
) -> nodes.Node:
    """Archive while a primary dies at a step, until that succeeds; the new primary."""
    replica = made.replica_of(dying)
    # WAIT is for the writes of its own connection.
    offset = dying.client.info("replication")["master_repl_offset"]
    nodes.wait_until(
        lambda: replica.client.info("replication").get("slave_repl_offset", 0) >= offset
    )

    def reached(here: str) -> None:
        if here == step and dying.server.process.poll() is None:
            dying.kill()

    def is_archived() -> bool:
        archiver = Archiver(table, LocalEngine(), ArchiverSettings(url, lease_ms=1_000))
        try:
            return not archiver.round(STREAMS, Hooks(reached=reached)).failures
        except (ConnectionLost, ServerError):
            return False

    nodes.wait_until(is_archived, 60)
    assert dying.server.process.poll() is not None and replica.role() == "master"
    return replica


def start_again(made: nodes.Cluster, died: nodes.Node, primary: nodes.Node) -> None:
    """As a replica."""
    died.start_again()
    made.wait_until_agreed()
    nodes.wait_until(lambda: made.knows_replica(primary, died))


def test_entries_are_erased_from_every_node(
    link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    add(link, 1, 4)
    assert a_round(link, table).failures == {}
    add(link, 5, 6)
    words = ["erase", "--to", str(table.root), "--url", link.url]
    assert main([*words, "--where", "id IN ('2-0', '4-0', '6-0')", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 3 * len(STREAMS)
    table.refresh()
    for name in STREAMS:
        assert archived_ids(table, name) == ["1-0", "3-0"]
        assert live_ids(link, name)[-1] == "5-0"
    assert a_round(link, table).failures == {}
    assert archived_ids(table, STREAMS[0]) == ["1-0", "3-0", "5-0"]


def test_sql_asks_all_nodes(link: Connection, table: ArchiveTable) -> None:
    add(link, 1, 4)
    assert a_round(link, table).failures == {}
    add(link, 5, 6)
    every = " UNION ALL ".join(f'FROM "{name}"' for name in STREAMS)
    text = f"SELECT stream, count(DISTINCT id), count(*) FROM ({every}) GROUP BY ALL"
    found = sql(text, archive=table.root, url=link.url).read_all().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [
        (name, 6, 6) for name in sorted(STREAMS)
    ]
