"""The cluster, and a stream's policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
import redis

from rillway.console.data.facts import read_cluster, read_policy
from rillway.console.data.link import Link, Reply, Word


class Canned(Link):
    """A link whose requests all get the same reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("redis://127.0.0.1")
        self._reply = reply

    async def call_all(self, db: int, requests: Iterable[Sequence[Word]]) -> list[Reply]:
        return [self._reply for _ in requests]


async def test_the_cluster_is_what_its_node_says() -> None:
    reply = b"cluster_state:ok\r\ncluster_slots_ok:16384\r\ncluster_known_nodes:6\r\n"
    facts = await read_cluster(Canned(reply), 0)
    assert facts == {
        "cluster_state": "ok",
        "cluster_slots_ok": "16384",
        "cluster_known_nodes": "6",
    }


@pytest.mark.parametrize(
    "reply", [redis.ResponseError("cluster support disabled"), b"cluster_known_nodes:1\r\n", b""]
)
async def test_a_server_by_itself_is_in_no_cluster(reply: Reply) -> None:
    assert await read_cluster(Canned(reply), 0) == {}


async def test_a_policy_is_names_and_values() -> None:
    reply: Reply = [b"retain-ms", 5, b"by", b"age", b"backoff", [1, 2]]
    assert await read_policy(Canned(reply), 0, b"s") == {
        "retain-ms": 5,
        "by": "age",
        "backoff": [1, 2],
    }
    assert await read_policy(Canned(redis.ResponseError("unknown subcommand")), 0, b"s") == {}
