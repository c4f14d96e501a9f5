"""The jobs of each state, as each framework keeps them; pickles are named and not loaded."""

from __future__ import annotations

import pytest

from rillway.queues.queue import STATES, Job, State
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
