"""The jobs of each state, as each framework keeps them; pickles are named and not loaded."""

from __future__ import annotations

import json

import pytest

from rillway.queues.queue import DEPTH, STATES, Job, State, parsed
from rillway.queues.rq_queues import time_ms
from tests.rillway.queues.conftest import Found
from tests.rillway.queues.keys import NOW_MS

# Framework, queue: IDs by state, in the order in which workers take them.
IDS: dict[tuple[str, bytes], dict[State, list[str]]] = {
    ("celery", b"celery"): {
        "waiting": ["w1", "w2", "w3"], "running": ["r1"], "delayed": ["d1"], "failed": ["f1"],
    },
    ("celery", b"mail"): {"waiting": ["m1"], "running": ["r2"], "delayed": [], "failed": ["f2"]},
    ("rq", b"default"): {
        "waiting": ["w1", "w2"], "running": ["r1"], "delayed": ["d1"], "failed": ["f1", "f2"],
    },
    ("bullmq", b"mail"): {
        "waiting": ["8", "2", "5", "6"], "running": ["4"], "delayed": ["3"], "failed": ["1", "7"],
    },
    ("arq", b"arq:queue"): {
        "waiting": ["w1"], "running": ["r1"], "delayed": ["d1"], "failed": [],
    },
    ("dramatiq", b"default"): {
        "waiting": ["w1", "w2"], "running": ["r1"], "delayed": ["d1"], "failed": ["f1"],
    },
    ("huey", b"app"): {"waiting": ["0", "1"], "running": [], "delayed": ["0"], "failed": []},
    ("taskiq", b"taskiq"): {"waiting": ["w1", "w2"], "running": [], "delayed": [], "failed": []},
    ("taskiq", b"taskiq:stream"): {
        "waiting": ["w3"], "running": ["r1"], "delayed": [], "failed": [],
    },
    ("faststream", b"jobs"): {"waiting": ["0"], "running": [], "delayed": [], "failed": []},
    ("saq", b"mail"): {
        "waiting": ["w1"], "running": ["r1"], "delayed": ["d1"], "failed": ["f1"],
    },
}  # fmt: skip


@pytest.mark.parametrize(("framework", "label"), IDS)
def test_the_jobs_of_each_state(everything: Found, framework: str, label: bytes) -> None:
    found = {state: everything.ids(framework, label, state) for state in STATES}
    assert found == IDS[framework, label]


@pytest.mark.parametrize(("framework", "label"), IDS)
@pytest.mark.parametrize("count", [1, 2])
def test_pages_of_jobs_are_the_whole_in_parts(
    everything: Found, framework: str, label: bytes, count: int
) -> None:
    if framework == "huey":
        return  # its jobs have no IDs but their places
    for state, wanted in IDS[framework, label].items():
        found: list[str] = []
        for first in range(0, len(wanted) + 1, count):
            page = everything.jobs(framework, label, state, first, count)
            found += [one.id for one in page]
        assert found == wanted, state


def test_what_a_job_shows(everything: Found) -> None:
    def first(framework: str, label: bytes, state: State) -> Job:
        return everything.jobs(framework, label, state)[0]

    assert first("celery", b"celery", "waiting") == Job("w1", "add", [[1, 2], {}], 0)
    failed = first("celery", b"mail", "failed")
    assert (failed.name, failed.arguments, failed.error, failed.attempts) == (
        "add", [[9, 1], {"z": 2}], "ValueError: boom", 3,
    )  # fmt: skip
    assert first("rq", b"default", "failed") == Job(
        "f1", "jobs.boom", "(2)", None, "ValueError: boom", 1_795_910_729_136
    )
    assert everything.jobs("rq", b"default", "failed")[1].error == "ValueError: boom"
    assert first("bullmq", b"mail", "failed") == Job(
        "1", "boom", {"x": 1}, 1, "boom", 1_795_910_738_458
    )
    assert first("bullmq", b"mail", "delayed").time_ms == 1_795_911_038_402
    assert first("arq", b"arq:queue", "waiting").arguments.startswith("(pickle, ")
    assert first("dramatiq", b"default", "delayed") == Job(
        "d1", "again", [[1], {}], 2, "ValueError: boom", NOW_MS + 60_000
    )
    assert first("faststream", b"jobs", "waiting").arguments == {"a": 1}
    assert first("saq", b"mail", "failed").error == "ValueError: boom"
    assert first("huey", b"app", "waiting").arguments.startswith("(pickle, ")


HOSTILE = [b"", b"\xff\xfe", b"{" * 100_000, b"null", b"[1]", b'{"headers": 1}', b"\x80\x04."]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_jobs_that_are_no_jobs_are_shown_and_break_nothing(everything: Found, data: bytes) -> None:
    everything.call("LPUSH", "celery", data)
    everything.call("HSET", "unacked", "odd", data)
    everything.call("SET", "celery-task-meta-odd", data + b'"FAILURE"')
    everything.call("LPUSH", "rq:queue:default", data)
    everything.call("HSET", "rq:job:" + "odd", "exc_info", data)
    everything.call("ZADD", "rq:failed:default", 1, "odd")
    everything.call("LPUSH", "bull:mail:wait", data)
    everything.call("LPUSH", "taskiq", data)
    everything.call("XADD", "taskiq:stream", "*", "data", data)
    everything.call("RPUSH", "jobs", data)
    everything.call("RPUSH", "saq:mail:queued", "saq:job:mail:odd")
    everything.call("SET", "saq:job:mail:odd", data)
    everything.call("HSET", "dramatiq:default.msgs", "w1", data)
    everything.look()
    for framework, label in IDS:
        for state in STATES:
            everything.jobs(framework, label, state)


ODD = json.dumps(
    {
        "task_name": "\ud800", "task_id": float("inf"), "message_timestamp": float("inf"),
        "queued": float("nan"), "completed": float("-inf"), "attempts": 10**4000, "key": "\ud800",
        "status": "FAILURE", "queue": "\ud800", "date_done": "\ud800",
        "kwargs": {"a": float("nan")}, "result": {"exc_message": [float("nan")]},
        "options": {"eta": float("nan")},
        "headers": {"id": "\ud800", "eta": "\ud800", "retries": float("inf")},
    }
)  # fmt: skip
DIGITS = "9" * 5000


def test_numbers_and_texts_that_json_does_not_have_leave_figures_and_jobs(
    everything: Found,
) -> None:
    for words in [
        ("ZADD", "arq:queue", "-inf", "first", "+inf", "last"),
        ("SET", "bull:mail:id", DIGITS),
        ("HSET", "bull:mail:2", "timestamp", DIGITS, "atm", DIGITS, "data", ODD),
        ("ZADD", "bull:mail:delayed", "+inf", "3"),
        ("HSET", "rq:job:w1", "enqueued_at", "0001-01-01T00:00:00", "number_of_retries", "odd"),
        ("HSET", "rq:worker:abc", "state", "idle", "successful_job_count", "odd"),
        ("SADD", "rq:workers:default", "rq:worker:abc"),
        ("RPUSH", "celery", ODD),
        ("HSET", "unacked", "odd", f'[{ODD}, "", "\\ud800"]'),
        ("SET", "celery-task-meta-odd", ODD),
        ("HSET", "dramatiq:default.msgs", "w1", ODD),
        ("RPUSH", "taskiq", ODD),
        ("LPUSH", "saq:mail:queued", "saq:job:mail:odd"),
        ("SET", "saq:job:mail:odd", ODD),
    ]:
        assert not isinstance(everything.call(*words), Exception)
    found = everything.look()
    assert found.keys() >= IDS.keys()
    for framework, label in IDS:
        json.dumps(found[framework, label].as_json(), allow_nan=False)
        for state in STATES:
            jobs = [one.as_json() for one in everything.jobs(framework, label, state)]
            json.dumps(jobs, allow_nan=False, ensure_ascii=False).encode()


def test_the_oldest_job_of_bullmq_that_is_no_hash_has_no_age(everything: Found) -> None:
    everything.call("DEL", "bull:mail:2")
    everything.call("SET", "bull:mail:2", "a string")
    everything.call("RPUSH", "bull:mail:wait", "2")
    figures = everything.look()["bullmq", b"mail"].figures
    assert figures is not None
    assert figures.oldest_ms is None


def test_json_that_is_read_can_be_written() -> None:
    assert parsed(b"[NaN, -Infinity, 1e999, 1.5]") == [None, None, None, 1.5]
    assert parsed(b'["\\ud800", "\\ud83d\\ude00"]') == ["?", "\U0001f600"]
    assert parsed(b"[" * (DEPTH - 1) + b"]" * (DEPTH - 1)) is not None
    assert parsed(b"[" * 1000 + b"]" * 1000) is None
    assert parsed(b"\xed\xa0\x80") is None
    assert parsed(None) is None


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert time_ms(b"2026-11-29T00:00:00") == time_ms(b"2026-11-29T00:00:00Z")
