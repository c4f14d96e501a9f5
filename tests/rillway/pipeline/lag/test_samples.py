"""Samples of a server and of a cluster. archive/test_nodes_away.py has more."""

from __future__ import annotations

import pytest
import redis

from rillway.pipeline.client.cluster import connect
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.lag.samples import Samples
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.testing.processes import RillwayCluster
from tests.rillway.pipeline.group_scene import pending_stream

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
