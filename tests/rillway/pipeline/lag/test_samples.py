"""Samples of a server and of a cluster. archive/test_nodes_away.py has more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import redis

from rillway.pipeline.lag.samples import LagUnknown, Limits, Samples, draw
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection
from rillway.sampler.trend import Recording
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.sampler.test_trend import sample

pytestmark = pytest.mark.integration


def test_a_sample_has_all_groups_of_the_streams(link: Connection) -> None:
    pending_stream(link, count=4)
    for samples in (Samples(link, ["s"], None), Samples(link, None, "*")):
        (found,) = samples.take()
        assert (found.stream, found.group, found.pending) == ("s", "g", 4)
        assert samples.left_out == []
    with pytest.raises(StreamMissing):
        Samples(link, ["s", "t"], None)


def test_streams_of_a_cluster_may_come_and_go(
    rillway_cluster: RillwayCluster, rillway_cluster_client: redis.RedisCluster
) -> None:
    with connect(rillway_cluster.url) as cluster:
        samples = Samples(cluster, None, "s?")
        assert samples.take() == []
        for name in ("s1", "s2"):
            rillway_cluster_client.xgroup_create(name, "g", "0", mkstream=True)
        assert [one.stream for one in samples.take()] == ["s1", "s2"]
        rillway_cluster_client.delete("s1")
        rillway_cluster_client.set("s1", "no stream")
        assert [one.stream for one in samples.take()] == ["s2"]


SAMPLE = replace(sample(0, 5, 0, 5), pending=3, oldest_ms=90_000)


def test_without_limits_nothing_is_over_them() -> None:
    assert not Limits().are_set and Limits().exceeded([SAMPLE]) == []


def test_a_limit_itself_may_be_reached() -> None:
    assert Limits(lag=5, oldest_s=90).exceeded([SAMPLE]) == []
    assert Limits(lag=4, oldest_s=89).exceeded([SAMPLE]) == [
        "s/g: 5 behind, more than 4",
        "s/g: the oldest pending entry is 1 min 30 s old, more than 1 min 29 s",
    ]


def test_where_nothing_is_pending_nothing_is_old() -> None:
    assert Limits(oldest_s=0).exceeded([replace(SAMPLE, pending=0, oldest_ms=None)]) == []


def test_what_is_unknown_cannot_be_checked() -> None:
    with pytest.raises(LagUnknown, match="s/g"):
        Limits(lag=9).exceeded([replace(SAMPLE, lag=None)])
    with pytest.raises(LagUnknown, match="s/g"):
        Limits(oldest_s=9).exceeded([replace(SAMPLE, oldest_ms=None)])


@pytest.mark.parametrize("count", [0, 1, 5])
def test_whatever_was_sampled_is_drawn(count: int, tmp_path: Path) -> None:
    recording = Recording()
    for seconds in range(count):
        recording.add([sample(seconds, 5, 0, 5), sample(seconds, None, 0, 5, "h")])
    draw(recording, tmp_path / "lag.png", "lag")
    assert (tmp_path / "lag.png").read_bytes().startswith(b"\x89PNG")
