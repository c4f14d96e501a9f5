"""Rounds over a cluster of which a node dies: the streams of the others are archived."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.engine import Engine, EngineFailed, LocalEngine
from rillway.pipeline.archive.lease import lease_key
from rillway.pipeline.archive.report.rounds import RoundOutcome, left_out
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.tasks import WriteTask, Written
from rillway.pipeline.lag.command import main as lag_main
from rillway.pipeline.lag.samples import Samples
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, ConnectionLost, NodeAway
from tests.rillway.pipeline.archive.scene import archived_ids, live_ids
from tests.rillway.pipeline.archive.test_cluster import Tasks
from tests.support.programs import cluster as nodes

pytestmark = pytest.mark.integration

STREAMS = [f"s{number}" for number in range(12)]
LASTING = ("--cluster-require-full-coverage", "no", "--appendonly", "yes", "--appendfsync", "no")
# A node that is taken for failed has to wait for twice as long when it is back.
PATIENT = ("--cluster-node-timeout", "60000")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[nodes.Cluster]:
    made = nodes.Cluster(
        tmp_path_factory.mktemp("nodes"), ["redis", "rillway", "newer"], *LASTING, *PATIENT
    )
    try:
        made.create(replicas=0)
        yield made
    finally:
        made.close()


@pytest.fixture
def url(made: nodes.Cluster) -> str:
    """Of a cluster whose nodes are all there, and hold nothing."""
    url = f"redis://{made.nodes[0].address}"
    with connect(url) as link:
        for node in link.nodes():
            node.call("FLUSHALL")
    return url


def add(url: str, first: int, last: int, streams: list[str] = STREAMS) -> None:
    with connect(url) as link:
        for number in range(first, last + 1):
            link.call_all([("XADD", name, f"{number}-0", "n", number) for name in streams])


def ids(first: int, last: int) -> list[str]:
    return [f"{number}-0" for number in range(first, last + 1)]


def streams_of(url: str, node: nodes.Node) -> set[str]:
    with connect(url) as link:
        return {name for name in STREAMS if link.of(name).url.endswith(node.address)}


def start_again(made: nodes.Cluster, node: nodes.Node) -> None:
    node.start_again()
    made.wait_until_whole()


class FailingTasks(Tasks):
    """With the error that a job of Spark ends with."""

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        try:
            return super().write(tasks)
        except ConnectionLost as error:
            raise EngineFailed(str(error)) from None


def a_round(
    url: str, table: ArchiveTable, hooks: Hooks | None = None, engine: Engine | None = None
) -> RoundOutcome:
    settings = ArchiverSettings(url, batch_entries=100)
    return Archiver(table, engine or LocalEngine(), settings, hooks).round(STREAMS)


@pytest.mark.parametrize(
    ("place", "step", "engine"),
    [
        (0, "planned", FailingTasks()),
        (2, "committed", LocalEngine()),
        *(
            pytest.param(place, step, engine, marks=pytest.mark.thorough)
            for place in (0, 1, 2)
            for step in ("recognised", "marked", "planned", "written", "stated", "committed")
            for engine in (LocalEngine(), Tasks())
        ),
        *(
            pytest.param(place, step, LocalEngine(), marks=pytest.mark.thorough)
            for place in (1, 2)
            for step in ("placed", "trimmed")
        ),
    ],
)
def test_a_node_dies_in_a_round(
    made: nodes.Cluster, url: str, table: ArchiveTable, place: int, step: str, engine: Engine
) -> None:
    """What is on it is archived, once, by a round after it has come back."""
    node = made.nodes[place]
    lost = streams_of(url, node)
    assert lost and len(lost) < len(STREAMS)
    add(url, 1, 20)
    assert not a_round(url, table, engine=engine).failures
    add(url, 21, 40)
    hooks = Hooks(
        reached=lambda now: (
            node.kill() if now == step and node.server.process.poll() is None else None
        )
    )
    outcome = a_round(url, table, hooks, engine)
    assert outcome.failures.keys() <= lost
    assert left_out(outcome)[-1][1].endswith(f"node {node.address} does not answer")
    if step != "trimmed":  # where it may be over with some of them
        assert outcome.failures.keys() == lost
        assert set(map(type, outcome.failures.values())) == {NodeAway}
    with connect(url) as link:
        link.leave_out()
        for name in set(STREAMS) - lost:
            assert archived_ids(table, name) == ids(1, 40)
            assert live_ids(link, name) == ["40-0"]
    start_again(made, node)
    with connect(url) as link:
        # It has kept them, and they would expire.
        link.call_all([("DEL", lease_key(table.group, name)) for name in lost])
    again = a_round(url, table)
    assert not again.failures and not again.away
    with connect(url) as link:
        for name in STREAMS:
            assert archived_ids(table, name) == ids(1, 40)
            assert live_ids(link, name) == ["40-0"]


@pytest.fixture
def sampled(url: str) -> Iterator[Connection]:
    with connect(url) as link:
        yield link


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["planned", "written", "committed"])
def test_a_node_hangs_in_a_round(
    made: nodes.Cluster, url: str, table: ArchiveTable, step: str
) -> None:
    """The leases of all others are renewed meanwhile."""
    node = made.nodes[2]
    lost = streams_of(url, node)
    add(url, 1, 20)
    stopped: list[str] = []

    def reached(now: str) -> None:
        if now == step and not stopped:
            stopped.append(now)
            node.server.process.send_signal(signal.SIGSTOP)

    try:
        outcome = a_round(f"{url}?socket_timeout=2", table, Hooks(reached=reached))
        assert outcome.failures.keys() == lost
        assert set(map(type, outcome.failures.values())) == {NodeAway}
    finally:
        node.server.process.send_signal(signal.SIGCONT)
    with connect(url) as link:
        link.call_all([("DEL", lease_key(table.group, name)) for name in lost])
    assert not a_round(url, table).failures
    assert [archived_ids(table, name) for name in STREAMS] == [ids(1, 20)] * len(STREAMS)


def test_a_job_that_fails_while_all_nodes_answer_ends_the_round(
    url: str, table: ArchiveTable
) -> None:
    class Failing(LocalEngine):
        def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
            raise EngineFailed("no worker is left")

    add(url, 1, 1)
    with pytest.raises(EngineFailed, match="no worker is left"):
        a_round(url, table, engine=Failing())


def test_a_node_is_away(
    made: nodes.Cluster, url: str, sampled: Connection, tmp_path: Path, capsys: Capture
) -> None:
    """The commands say it in a line, with what they know of its streams, and end with 1.

    A command that samples lags goes on, and has the node's groups again when it is back.
    """
    node = made.nodes[2]
    lost = streams_of(url, node)
    sentence = f"{len(lost)} streams: node {node.address} does not answer"
    metrics = tmp_path / "archive.prom"
    at = ["--url", url, "--to", str(tmp_path / "archive")]
    add(url, 1, 10)
    with connect(url) as link:
        link.call_all([("XGROUP", "CREATE", name, "g", "0") for name in STREAMS])
    assert main(["--pattern", "s*", *at, "--id-unit", "ms"]) == 0
    add(url, 11, 20)
    samples = Samples(sampled, None, "s*")
    assert {one.stream for one in samples.take()} == set(STREAMS)
    node.kill()
    try:
        for _ in range(2):
            assert {one.stream for one in samples.take()} == set(STREAMS) - lost
            assert samples.left_out == [sentence]
        capsys.readouterr()
        arguments = ["--pattern", "s*", *at, "--json", "--metrics-file", str(metrics)]
        assert main([*arguments, "--ignore-group", "g"]) == 1
        captured = capsys.readouterr()
        target = f"rillway archive: writes to {url}\n"
        assert captured.err == f"{target}rillway archive: {sentence}\n"
        found = json.loads(captured.out)
        assert {one["stream"] for one in found["left_out"]} == lost
        assert {one["reason"] for one in found["left_out"]} == {"NodeAway"}
        assert found["nodes_away"] == [f"node {node.address} does not answer"]
        assert found["entries"] == 10 * (len(STREAMS) - len(lost))
        lines = metrics.read_text().splitlines()
        assert f"rillway_archive_streams_away {len(lost)}" in lines
        assert "rillway_archive_nodes_away 1" in lines

        assert main(["status", *at]) == 1
        captured = capsys.readouterr()
        assert captured.err == f"rillway archive: {sentence}\n"
        for name in STREAMS:
            what = f"node {node.address} does not answer" if name in lost else ""
            memory = what or "20 in memory; 0 not archived yet"
            end = 10 if name in lost else 20
            assert f"{name}: {end} entries; archived up to {end}-0; {memory}" in captured.out
        assert main(["status", *at, "--json", "--stream", min(lost)]) == 1
        status = json.loads(capsys.readouterr().out)
        assert (status["entries"], status["lag"], status["in_memory"]) == (10, None, None)
        assert status["refused"]["reason"] == "NodeAway"

        named = [word for name in STREAMS for word in ("--stream", name)]
        assert lag_main(["--url", url, "--samples", "1", "--group", "g", *named]) == 1
        captured = capsys.readouterr()
        assert captured.err == f"rillway lag: {sentence}\n"
        assert captured.out.count("g: 20 behind") == len(STREAMS) - len(lost)
        assert lag_main(["--url", url, "--samples", "1", "--fail-above", "100", "--json"]) == 1
        captured = capsys.readouterr()
        unknown = f"node {node.address} does not answer; its streams are not known"
        assert captured.err == f"rillway lag: {unknown}\n"
        assert json.loads(captured.out)["left_out"] == [unknown]
    finally:
        start_again(made, node)
    assert {one.stream for one in samples.take()} == set(STREAMS) and not samples.left_out
    assert main(["--pattern", "s*", *at]) == 0
    table = ArchiveTable.open(tmp_path / "archive")
    assert [archived_ids(table, name) for name in STREAMS] == [ids(1, 20)] * len(STREAMS)
