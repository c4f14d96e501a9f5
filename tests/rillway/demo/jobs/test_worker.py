"""Workers: what they do with a job and write into the ledger, and how they end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

import pytest

from rillway.consumer import Entry
from rillway.consumer.worker import Counts
from rillway.demo.jobs.work import LEDGER, Trouble
from rillway.demo.jobs.worker import Crew, JobFailed, Worker


class Ledger:
    """The records that workers write."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes]] = []

    async def xadd(self, key: str, record: dict[str, Any]) -> None:
        assert (key, record["worker"]) == (LEDGER, "ann")
        self.records.append((record["event"], record["job"]))


class Bench:
    """A worker whose sleeps and crashes are noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ledger, self.counts = Ledger(), Counts()
        self.worker = Worker("ann", self.ledger, self.counts)  # type: ignore[arg-type]
        self.slept: list[float] = []
        self.killed: list[tuple[int, int]] = []
        monkeypatch.setattr(time, "sleep", self.slept.append)
        monkeypatch.setattr(os, "kill", lambda *call: self.killed.append(call))

    def do(self, trouble: Trouble, deliveries: int = 1, **more: str) -> Entry:
        fields = {"job": "5", "kind": "email", "takes_ms": "0.5", "trouble": trouble.value}
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        hops = [(b"rillway-hops", value.encode()) for value in more.values()]
        entry = Entry("1-1", (*pairs, *hops), deliveries)
        asyncio.run(self.worker.handle(entry))
        return entry

    @property
    def events(self) -> list[str]:
        return [event for event, _ in self.ledger.records]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_a_job_is_done_and_written_down(bench: Bench) -> None:
    bench.do(Trouble.NONE)
    assert bench.ledger.records == [("done", b"5")]
    assert not bench.slept and not bench.killed


def test_a_late_acknowledgement_is_written_down_before_the_next_job(bench: Bench) -> None:
    bench.do(Trouble.NONE)
    bench.counts.acknowledged += 1
    bench.do(Trouble.NONE)
    assert bench.events == ["done", "done"]
    bench.do(Trouble.NONE)
    assert bench.events == ["done", "done", "late", "done"]
    asyncio.run(bench.worker.note_late())
    asyncio.run(bench.worker.note_late())
    assert bench.events == ["done", "done", "late", "done", "late"]


@pytest.mark.parametrize("trouble", [Trouble.FLAKY, Trouble.BROKEN])
def test_a_job_fails(bench: Bench, trouble: Trouble) -> None:
    with pytest.raises(JobFailed):
        bench.do(trouble)
    assert bench.events == []
    bench.do(trouble, hops="1")
    assert bench.events == ["done"]


def test_a_broken_job_fails_each_time_and_a_flaky_one_once(bench: Bench) -> None:
    with pytest.raises(JobFailed):
        bench.do(Trouble.BROKEN, deliveries=2)
    bench.do(Trouble.FLAKY, deliveries=2)
    assert bench.events == ["done"]


def test_a_busy_job_comes_later(bench: Bench) -> None:
    assert bench.do(Trouble.BUSY).verdict.retry_ms
    assert bench.events == []
    assert bench.do(Trouble.BUSY, deliveries=2).verdict.retry_ms is None
    assert bench.events == ["done"]


def test_a_hopeless_job_is_rejected_each_time(bench: Bench) -> None:
    assert bench.do(Trouble.HOPELESS).verdict.is_rejected
    assert bench.do(Trouble.HOPELESS, hops="2").verdict.is_rejected
    assert bench.events == []


def test_a_job_that_hangs_blocks_its_first_worker(bench: Bench) -> None:
    bench.do(Trouble.HANG)
    assert bench.slept == [0.0005]
    bench.do(Trouble.HANG, deliveries=2)
    assert bench.slept == [0.0005]
    assert bench.events == ["done", "late", "done"]


def test_a_crash_comes_once_and_after_the_work(bench: Bench) -> None:
    bench.do(Trouble.CRASH)
    assert bench.killed == [(os.getpid(), signal.SIGKILL)]
    assert bench.events == ["done"]
    bench.do(Trouble.CRASH, deliveries=2)
    assert len(bench.killed) == 1


class Process:
    """A process that notes what is done to it."""

    def __init__(self, **_: Any) -> None:
        self.calls: list[str] = []
        self.lives = True

    def is_alive(self) -> bool:
        return self.lives

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.calls.append(name)


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Crew:
    crew = Crew("redis://127.0.0.1:1")

    class Context:
        Process = staticmethod(Process)

    monkeypatch.setattr(crew, "_context", Context())
    return crew


def test_a_worker_has_a_name_of_its_own(crew: Crew) -> None:
    assert [crew.hire() for _ in range(3)] == ["worker-1", "worker-2", "worker-3"]
    process: Any = crew.running["worker-2"]
    process.lives = False
    assert crew.crashed() == ["worker-2"]
    assert crew.crashed() == []
    assert crew.hire() == "worker-4"
    assert list(crew.running) == ["worker-1", "worker-3", "worker-4"]


def test_at_the_end_each_worker_may_finish_its_job(crew: Crew) -> None:
    names = [crew.hire(), crew.hire()]
    processes: list[Any] = [crew.running[name] for name in names]
    processes[0].lives = False
    assert crew.stop() == ["worker-2"]
    assert processes[0].calls == ["start", "terminate", "join"]
    assert processes[1].calls == ["start", "terminate", "join", "kill", "join"]
