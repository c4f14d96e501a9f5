"""Queues are found among all keys, within a share of the server's time."""

from __future__ import annotations

import json

from rillway.queues.finder import IDLE_WAIT_S, SCAN_COUNT, Finder
from rillway.queues.queue import Figures
from tests.rillway.queues.conftest import Found
from tests.rillway.queues.keys import ALL, celery_message

FIGURES = {
    ("arq", b"arq:queue"): Figures(1, 1, 1, oldest_ms=5000),
    ("bullmq", b"flow"): Figures(0, 0, 0, 0, taken=0),
    ("bullmq", b"mail"): Figures(4, 1, 1, 2, oldest_ms=161_602, taken=8),
    ("celery", b"celery"): Figures(3, 1, 1, 1, 1),
    ("celery", b"mail"): Figures(1, 1, 0, 1, 1),
    ("dramatiq", b"default"): Figures(2, 1, 1, 1, 1, 3000),
    ("faststream", b"jobs"): Figures(1),
    ("huey", b"app"): Figures(2, delayed=1),
    ("huey", b"prio"): Figures(1, delayed=0),
    ("rq", b"default"): Figures(2, 1, 1, 2, 1, 170_864, done=5),
    ("rq", b"empty"): Figures(0, 0, 0, 0, 0, done=0),
    ("saq", b"mail"): Figures(1, 1, 1, 1, 1, 2000),
    ("taskiq", b"taskiq"): Figures(2),
    ("taskiq", b"taskiq:stream"): Figures(1, 1, workers=1),
}

READS = {
    "TIME", "SCAN", "SMEMBERS", "SCARD", "ZCARD", "ZCOUNT", "ZRANGE", "LLEN", "LINDEX", "HLEN",
    "HGET", "HMGET", "HVALS", "GET", "EXISTS", "XINFO", "MEMORY", "GETRANGE",
}  # fmt: skip


def test_the_queues_of_all_frameworks_have_their_figures(everything: Found) -> None:
    found = {
        (one.queue.framework, one.queue.label): one.figures for one in everything.finder.queues
    }
    assert found == FIGURES


def test_finding_and_measuring_writes_nothing_and_never_sends_keys(everything: Found) -> None:
    everything.sent.clear()
    everything.look()
    assert {"TIME", "SCAN", "LLEN"} <= set(everything.sent)
    assert set(everything.sent) <= READS


def test_a_queue_whose_keys_were_deleted_is_forgotten_after_a_pass(everything: Found) -> None:
    everything.call("DEL", "huey.redis.prio", "bull:mail:meta")
    found = everything.look()
    assert ("huey", b"prio") not in found
    assert ("bullmq", b"mail") not in found
    assert ("huey", b"app") in found


def test_a_key_of_another_type_under_a_known_name_is_no_queue() -> None:
    found = Found("celery", "rq")
    found.call("SET", "rq:queue:odd", "a string")
    found.call("SET", "huey.redis.odd", "a string")
    found.call("HSET", "saq:odd:queued", "a", "hash")
    found.call("SET", "arq:odd", "a string")
    found.call("SET", "taskiq", "a string")
    found.call("SET", "dramatiq:odd.msgs", "a string")
    assert {framework for framework, _ in found.look()} == {"celery", "rq"}
    assert ("rq", b"odd") not in found.look()


def test_names_that_are_not_utf8_are_found() -> None:
    found = Found()
    found.call("RPUSH", b"rq:queue:\xff\n", "j1")
    assert list(found.look()) == [("rq", b"\xff\n")]
    (known,) = found.finder.queues
    assert known.as_json()["name"] == {"base64": "/wo="}


def test_a_prefix_that_is_not_usual_is_part_of_the_name() -> None:
    found = Found()
    found.call("HSET", "{app}:mail:meta", "version", "bullmq:5.1.0")
    found.call("SADD", "app:_kombu.binding.celery", "celery\x06\x16\x06\x16celery")
    assert set(found.look()) == {("bullmq", b"{app}:mail"), ("celery", b"app:celery")}


def test_rates_come_from_counts_of_two_measurements() -> None:
    found = Found("bullmq")
    found.look()
    found.call("INCRBY", "bull:mail:id", 30)
    found.look()
    known = found.finder.find("bullmq", b"mail")
    assert known is not None and known.in_per_s is not None and known.in_per_s > 0
    assert known.out_per_s is None


def test_many_keys_take_many_small_steps_and_the_share_bounds_their_rate() -> None:
    found = Found("rq")
    for number in range(3 * SCAN_COUNT):
        found.call("SET", f"k:{number}", number)
    finder = Finder(share=0.01)
    assert finder.plan(0.0) != []
    finder.accept([[b"1", b"0"], [b"0", []], [b"1", b"10000"]], 0.5)
    # Ten ms of the server's time, by its clock 25: nothing is due for 2.5 s.
    assert finder.plan(1.0) == []
    assert finder.wait_s(1.0) == 1.0
    # No longer than the share asks for: there are more names.
    assert 0 < finder.wait_s(2.97) < IDLE_WAIT_S
    assert finder.plan(3.1) != []


def test_a_user_without_scan_sees_why_there_are_no_queues() -> None:
    finder = Finder()
    finder.plan(0.0)
    time = [b"1", b"0"]
    finder.accept([time, RuntimeError("NOPERM User x has no permissions to run 'scan'"), time], 0.1)
    assert finder.has_passed
    assert "NOPERM" in finder.error
    assert finder.queues == []


def test_after_a_lost_connection_the_figures_stay(everything: Found) -> None:
    everything.finder.plan(everything.now_s + 60)
    everything.finder.reset()
    assert len(everything.finder.queues) == len(FIGURES)
    assert len(everything.look()) == len(FIGURES)


def test_each_framework_has_recorded_keys() -> None:
    assert {framework for framework, _ in FIGURES} == set(ALL)


def test_names_that_only_look_like_those_of_bullmq_take_no_turns_from_queues() -> None:
    found = Found("bullmq", "rq")
    for number in range(500):
        found.call("SET", f"user:{number}:meta", "of another program")
        found.call("HSET", f"session:{number}:active", "a", "b")
    found.sent.clear()
    assert set(found.look()) == {
        ("bullmq", b"flow"), ("bullmq", b"mail"), ("rq", b"default"), ("rq", b"empty"),
    }  # fmt: skip
    # A request for each in the pipelines of SCAN, and none once more.
    assert found.sent.count("HMGET") < 600
    assert found.sent.count("TIME") < 100


def test_many_queues_that_are_gone_are_forgotten_in_one_pass() -> None:
    found = Found("rq")
    for number in range(50):
        found.call("RPUSH", f"rq:queue:{number}", "j")
    assert len(found.look()) == 52
    for number in range(50):
        found.call("DEL", f"rq:queue:{number}")
    assert len(found.look()) == 2


def test_a_queue_of_celery_is_named_by_its_binding_not_by_its_exchange() -> None:
    found = Found("celery")
    found.call("SADD", "_kombu.binding.media", "media.video\x06\x16\x06\x16videos")
    found.call("LPUSH", "videos", celery_message("v1", []))
    message = json.loads(celery_message("v2", []))
    found.call("HSET", "unacked", "t9", json.dumps([message, "media", "media.video"]))
    queues = found.look()
    assert ("celery", b"media") not in queues
    figures = queues["celery", b"videos"].figures
    assert figures is not None
    assert (figures.waiting, figures.running) == (1, 1)
    assert found.ids("celery", b"videos", "running") == ["v2"]


def test_the_first_element_of_a_list_is_fetched_only_if_it_is_small() -> None:
    found = Found()
    found.call("RPUSH", "large", b"x" * 1_000_000)
    found.look()
    assert "LINDEX" not in found.sent
    found.call("RPUSH", "small", b"x")
    found.look()
    assert found.sent.count("LINDEX") == 1


def test_large_results_and_large_messages_that_workers_hold_are_not_read() -> None:
    found = Found("celery")
    found.call(
        "SET", "celery-task-meta-large", f'{{"status": "FAILURE", "result": "{"x" * 100_000}"}}'
    )
    found.call("HSET", "unacked", "large", b"x" * (17 << 20))
    found.sent.clear()
    figures = found.look()["celery", b"celery"].figures
    assert figures == Figures(3, None, None, 1, 1)
    assert "HVALS" not in found.sent
