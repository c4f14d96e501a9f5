"""Facts of a server besides its figures: its cluster, a stream's policy."""

from __future__ import annotations

import redis

from rillway.console.data.link import Link
from rillway.sampler.figures import PolicyValue
from rillway.sampler.replies import info_fields, text_map


async def read_cluster(link: Link, db: int) -> dict[str, str]:
    """Return CLUSTER INFO; empty for a server without a cluster, or that refuses it."""
    (reply,) = await link.call_all(db, [("CLUSTER", "INFO")])
    if isinstance(reply, redis.RedisError):
        return {}
    facts = info_fields(reply)
    return facts if int(facts.get("cluster_known_nodes", 0)) > 1 else {}


async def read_policy(link: Link, db: int, key: bytes) -> dict[str, PolicyValue]:
    """Return XINFO POLICY, which only Rillway has; empty elsewhere."""
    (reply,) = await link.call_all(db, [("XINFO", "POLICY", key)])
    return {} if isinstance(reply, redis.RedisError) else text_map(reply)
