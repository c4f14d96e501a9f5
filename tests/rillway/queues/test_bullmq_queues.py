"""Actions on jobs of BullMQ leave what its own commands leave."""

from __future__ import annotations

import pytest

from tests.rillway.queues.conftest import Found


def test_bullmq_runs_a_failed_job_again_once(everything: Found) -> None:
    assert everything.act("bullmq", b"mail", "retry", "1", "1") == 1
    assert everything.ids("bullmq", b"mail", "waiting") == ["8", "2", "5", "1", "6"]
    assert everything.call("HMGET", "bull:mail:1", "failedReason", "processedOn") == [None, None]
    assert everything.call("ZRANGE", "bull:mail:marker", 0, -1) == [b"0"]
    (event,) = everything.call("XRANGE", "bull:mail:events", "-", "+")
    assert event[1] == [b"event", b"waiting", b"jobId", b"1", b"prev", b"failed"]


def test_bullmq_keeps_the_priority_of_a_job_that_runs_again(everything: Found) -> None:
    assert everything.act("bullmq", b"mail", "retry", "7") == 1
    assert everything.call("ZRANGE", "bull:mail:prioritized", 0, -1) == [b"6", b"7"]
    assert everything.call("ZSCORE", "bull:mail:prioritized", "7") == b"12884901890"


@pytest.mark.parametrize(
    ("version", "target"), [("bullmq:6.7.0", "wait"), ("bullmq:5.2", "paused")]
)
def test_bullmq_wakes_no_worker_of_a_paused_queue(
    everything: Found, version: str, target: str
) -> None:
    everything.call("HSET", "bull:mail:meta", "paused", 1, "version", version)
    assert everything.act("bullmq", b"mail", "retry", "1") == 1
    assert everything.call("LPOS", f"bull:mail:{target}", "1") is not None
    assert everything.call("EXISTS", "bull:mail:marker") == 0


def test_bullmq_gives_a_child_back_to_its_parent(everything: Found) -> None:
    everything.call("HSET", "bull:mail:1", "parentKey", "bull:flow:p1")
    everything.call("HSET", "bull:flow:p1", "name", "parent")
    everything.call("HSET", "bull:flow:p1:failed", "bull:mail:1", "boom")
    assert everything.act("bullmq", b"mail", "retry", "1") == 1
    assert everything.call("SMEMBERS", "bull:flow:p1:dependencies") == [b"bull:mail:1"]
    assert everything.call("EXISTS", "bull:flow:p1:failed") == 0


@pytest.mark.parametrize("name", ["2", "3", "6", "7"])
def test_bullmq_removes_a_job_with_its_keys(everything: Found, name: str) -> None:
    everything.call("RPUSH", f"bull:mail:{name}:logs", "a line")
    assert everything.act("bullmq", b"mail", "remove", name) == 1
    assert everything.call("EXISTS", f"bull:mail:{name}", f"bull:mail:{name}:logs") == 0
    for state in ("waiting", "delayed", "failed"):
        assert name not in everything.ids("bullmq", b"mail", state)


def test_bullmq_does_not_remove_what_runs_or_belongs_to_a_flow(everything: Found) -> None:
    assert everything.act("bullmq", b"mail", "remove", "4", "8", "99") == 0
    assert everything.call("EXISTS", "bull:mail:4", "bull:mail:8") == 2


def test_bullmq_keeps_the_next_job_of_a_scheduler_which_would_end_without_it(
    everything: Found,
) -> None:
    everything.call("ZADD", "bull:mail:repeat", 1795917769204, "daily")
    for time in (1795917769204, 1795917700000):
        everything.call("HSET", f"bull:mail:repeat:daily:{time}", "name", "x", "rjk", "daily")
        everything.call("ZADD", "bull:mail:delayed", time * 4096, f"repeat:daily:{time}")
    assert everything.act("bullmq", b"mail", "remove", "repeat:daily:1795917769204") == 0
    assert everything.act("bullmq", b"mail", "remove", "repeat:daily:1795917700000") == 1


def test_bullmq_moves_jobs_to_the_front_in_their_order(everything: Found) -> None:
    assert everything.act("bullmq", b"mail", "front", "5", "2", "6") == 2
    assert everything.ids("bullmq", b"mail", "waiting") == ["5", "2", "8", "6"]
