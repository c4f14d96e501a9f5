"""rq from PyPI, unchanged: queues, a worker of its own process, results, registries, schedulers."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
import rq
from rq.cron import CronScheduler
from rq.exceptions import DuplicateJobError
from rq.job import Job, JobStatus
from rq.registry import (
    CanceledJobRegistry,
    DeferredJobRegistry,
    FailedJobRegistry,
    FinishedJobRegistry,
    ScheduledJobRegistry,
    StartedJobRegistry,
)
from rq.scheduler import RQScheduler

from tests.support.programs import processes
from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

WORKER_SECONDS = 60.0
REGISTRIES = (
    StartedJobRegistry,
    FinishedJobRegistry,
    FailedJobRegistry,
    DeferredJobRegistry,
    ScheduledJobRegistry,
    CanceledJobRegistry,
)


@pytest.fixture
def connection(server: RunningServer, protocol: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=server.port, protocol=protocol) as connection:
        yield connection


@pytest.fixture
def queue(connection: redis.Redis) -> Any:
    return rq.Queue("work", connection=connection)


def registry_of(queue: Any, kind: Any) -> Any:
    return kind("work", connection=queue.connection)


def counts(queue: Any) -> dict[str, int]:
    return {kind.__name__: len(registry_of(queue, kind).get_job_ids()) for kind in REGISTRIES}


def work(port: int, folder: Path, *options: str) -> None:
    """A worker takes all jobs that there are, each in a process of its own, and ends."""
    program = "from rq.cli import main; main()"
    words = ["worker", "--burst", "--url", f"redis://127.0.0.1:{port}", *options, "work"]
    log = folder / "worker.log"
    worker = processes.start([sys.executable, "-c", program, *words], folder=folder, output=log)
    try:
        assert worker.wait(WORKER_SECONDS) == 0, log.read_text()
    finally:
        processes.stop(worker)


def test_jobs_are_done_and_remembered(
    server: RunningServer, queue: Any, tmp_path: Path, protocol: int
) -> None:
    total = queue.enqueue(operator.add, 2, 3)
    product = queue.enqueue(operator.mul, 4, 5, depends_on=total)
    wrong = queue.enqueue(math.sqrt, -1)
    retried = queue.enqueue(math.sqrt, -1, retry=rq.Retry(max=2))
    canceled = queue.enqueue(operator.add, 1, 1)
    canceled.cancel()
    many = queue.enqueue_many([rq.Queue.prepare_data(operator.add, (n, n)) for n in range(20)])
    assert queue.count == 23
    assert counts(queue)["DeferredJobRegistry"] == 1
    work(server.port, tmp_path)
    assert queue.count == 0
    assert total.return_value() == 5
    assert product.return_value() == 20
    assert [job.return_value() for job in many] == [2 * n for n in range(20)]
    assert wrong.get_status() == retried.get_status() == JobStatus.FAILED
    assert "math domain error" in wrong.latest_result().exc_string
    retried.refresh()
    assert retried.retries_left == 0
    assert canceled.get_status() == JobStatus.CANCELED
    assert counts(queue) == {
        "StartedJobRegistry": 0,
        "FinishedJobRegistry": 22,
        "FailedJobRegistry": 2,
        "DeferredJobRegistry": 0,
        "ScheduledJobRegistry": 0,
        "CanceledJobRegistry": 1,
    }
    registry_of(queue, FailedJobRegistry).requeue(wrong.id)
    assert queue.job_ids == [wrong.id]


def test_jobs_are_scheduled_for_later(queue: Any, protocol: int) -> None:
    registry = registry_of(queue, ScheduledJobRegistry)
    later = datetime(2100, 1, 1, tzinfo=UTC)
    job = queue.enqueue_at(later, operator.add, 1, 2)
    due = queue.enqueue_in(timedelta(seconds=-1), operator.add, 3, 4)
    assert registry.get_scheduled_time(job) == later
    assert registry.get_jobs_to_schedule() == [due.id]
    assert registry.get_job_ids() == [due.id, job.id]
    registry.remove(due)
    assert registry.count == 1
    job.delete()
    assert registry.count == 0


def test_a_job_can_be_found_changed_and_deleted(queue: Any, protocol: int) -> None:
    job = queue.enqueue(operator.add, 1, 2, job_id="the-job", meta={"by": "hand"})
    found: Any = Job.fetch("the-job", connection=queue.connection)
    assert (found.args, found.meta, found.origin) == ((1, 2), {"by": "hand"}, "work")
    found.meta["seen"] = True
    found.save_meta()
    job.refresh()
    assert job.meta == {"by": "hand", "seen": True}
    assert queue.get_job_position(job) == 0
    job.delete()
    assert not Job.exists("the-job", connection=queue.connection)
    assert queue.job_ids == []


def test_finished_jobs_are_forgotten_in_time(queue: Any, protocol: int) -> None:
    registry = registry_of(queue, FinishedJobRegistry)
    kept, gone = queue.enqueue(operator.add, 1, 2), queue.enqueue(operator.add, 1, 2)
    registry.add(kept, ttl=1000)
    registry.add(gone, ttl=-1)
    registry.add(gone, ttl=1)
    queue.connection.zadd(registry.key, {gone.id: 1})
    assert gone.id in registry.get_expired_job_ids()
    registry.cleanup()
    assert registry.get_job_ids() == [kept.id]


# -- what rq does with Lua -----------------------------------------------------------------------


def test_a_queue_is_emptied(queue: Any, protocol: int) -> None:
    jobs = [queue.enqueue(operator.add, number, 1) for number in range(5)]
    assert queue.empty() == 5
    assert queue.count == 0
    assert not any(Job.exists(job.id, connection=queue.connection) for job in jobs)


def test_a_unique_job_is_there_once(queue: Any, protocol: int) -> None:
    queue.enqueue(operator.add, 1, 2, job_id="one", unique=True)
    with pytest.raises(DuplicateJobError):
        queue.enqueue(operator.add, 1, 2, job_id="one", unique=True)
    later = datetime(2100, 1, 1, tzinfo=UTC)
    queue.enqueue_at(later, operator.add, 1, 2, job_id="two", unique=True)
    with pytest.raises(DuplicateJobError):
        queue.enqueue_at(later, operator.add, 1, 2, job_id="two", unique=True)
    assert queue.job_ids == ["one"]


def test_one_scheduler_has_the_lock_of_a_queue(queue: Any, protocol: int) -> None:
    first: Any = RQScheduler([queue], connection=queue.connection)
    second: Any = RQScheduler([queue], connection=queue.connection)
    assert first.acquire_locks() == {"work"}
    assert second.acquire_locks() == set()
    first.heartbeat()
    job = queue.enqueue_in(timedelta(seconds=-1), operator.add, 3, 4)
    first.enqueue_scheduled_jobs()
    assert queue.job_ids == [job.id]
    first.release_locks()
    assert second.acquire_locks() == {"work"}


def test_a_worker_with_a_scheduler_runs_what_is_due(
    server: RunningServer, queue: Any, tmp_path: Path, protocol: int
) -> None:
    job = queue.enqueue_in(timedelta(seconds=-1), operator.add, 3, 4)
    work(server.port, tmp_path, "--with-scheduler")
    assert job.return_value() == 7


def test_cron_enqueues_a_job_at_its_time(queue: Any, protocol: int) -> None:
    cron = CronScheduler(connection=queue.connection)
    cron.register(operator.add, "work", args=(1, 2), interval=3600)
    cron.register_birth()
    assert [job.func_name for job in CronScheduler.all(queue.connection)[0].get_jobs()]
    assert len(cron.enqueue_jobs()) == queue.count == 1
    cron.heartbeat()
    cron.register_death()
    assert CronScheduler.all(queue.connection) == []
