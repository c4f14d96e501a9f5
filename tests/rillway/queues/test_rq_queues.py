"""Actions on jobs of RQ leave what RQ's own commands leave."""

from __future__ import annotations

import pytest

from tests.rillway.queues.conftest import Found


def test_rq_runs_a_failed_job_again_once(everything: Found) -> None:
    assert everything.act("rq", b"default", "retry", "f1", "f1", "none") == 1
    assert everything.act("rq", b"default", "retry", "f1") == 0
    assert everything.call("LRANGE", "rq:queue:default", 0, -1) == [b"w1", b"w2", b"f1"]
    assert everything.call("ZRANGE", "rq:failed:default", 0, -1) == [b"f2"]
    fields = everything.call("HMGET", "rq:job:f1", "status", "ended_at", "worker_name")
    assert fields == [b"queued", b"", b""]
    assert everything.call("TTL", "rq:job:f1") == -1


@pytest.mark.parametrize("name", ["w1", "d1", "f1"])
def test_rq_removes_a_job_with_its_keys(everything: Found, name: str) -> None:
    assert everything.act("rq", b"default", "remove", name) == 1
    assert everything.call("EXISTS", f"rq:job:{name}", f"rq:results:{name}") == 0
    for state in ("waiting", "delayed", "failed"):
        assert name not in everything.ids("rq", b"default", state)


def test_rq_takes_a_removed_job_out_of_its_group(everything: Found) -> None:
    everything.call("HSET", "rq:job:w2", "group_id", "g")
    everything.call("SADD", "rq:group:g", "w2", "other")
    assert everything.act("rq", b"default", "remove", "w2") == 1
    assert everything.call("SMEMBERS", "rq:group:g") == [b"other"]


def test_rq_does_not_remove_what_runs_or_what_others_wait_for(everything: Found) -> None:
    everything.call("SADD", "rq:job:w1:dependents", "w2")
    assert everything.act("rq", b"default", "remove", "r1", "w1") == 0
    assert everything.call("EXISTS", "rq:job:r1", "rq:job:w1") == 2


def test_rq_jobs_with_a_limited_rate_are_left_to_rq(everything: Found) -> None:
    everything.call("HSET", "rq:job:f1", "rate_limit_key", "k")
    assert everything.act("rq", b"default", "retry", "f1") == 0
    assert everything.act("rq", b"default", "remove", "f1") == 0


def test_rq_moves_jobs_to_the_front_in_their_order(everything: Found) -> None:
    everything.call("RPUSH", "rq:queue:default", "w3", "w4")
    assert everything.act("rq", b"default", "front", "w3", "w4", "f1") == 2
    assert everything.call("LRANGE", "rq:queue:default", 0, -1) == [b"w3", b"w4", b"w1", b"w2"]
