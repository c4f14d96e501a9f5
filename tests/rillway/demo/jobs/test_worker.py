"""Workers are killed while they hold jobs."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.demo.jobs.worker import Workers


class Process:
    """A process that notes what is done to it."""

    def __init__(self, **_: Any) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.calls.append(name)


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Workers:
    crew = Workers("redis://127.0.0.1:1")

    class Context:
        Process = staticmethod(Process)

    monkeypatch.setattr(crew, "_context", Context())
    return crew


def test_a_worker_has_a_name_of_its_own(crew: Workers) -> None:
    assert [crew.hire() for _ in range(3)] == ["worker-1", "worker-2", "worker-3"]
    crew.kill_busiest({"worker-2": 1})
    assert crew.hire() == "worker-4"
    assert list(crew.running) == ["worker-1", "worker-3", "worker-4"]


def test_the_one_with_most_jobs_in_hand_is_killed(crew: Workers) -> None:
    crew.hire()
    crew.hire()
    process: Any = crew.running["worker-2"]
    assert crew.kill_busiest({"worker-1": 2, "worker-2": 5, "worker-0": 9}) == "worker-2"
    assert process.calls == ["start", "kill", "join"]


def test_a_worker_without_a_job_is_not_killed(crew: Workers) -> None:
    assert crew.kill_busiest({}) is None
    crew.hire()
    assert crew.kill_busiest({"worker-1": 0}) is None
    assert list(crew.running) == ["worker-1"]


def test_at_the_end_each_worker_may_finish_its_job(crew: Workers) -> None:
    crew.hire()
    process: Any = crew.running["worker-1"]
    crew.stop()
    assert process.calls == ["start", "terminate", "join", "kill"]
