"""server/persistence/append_only/sync_thread.py."""

from __future__ import annotations

import errno
from pathlib import Path

from server.persistence.append_only.sync_thread import Job, ManualSyncer, ThreadSyncer
from server.persistence.files import OsFiles, write_all


def fail() -> None:
    """A sync of a disk that is broken."""
    raise OSError(errno.EIO, "Input/output error")


def test_a_job_keeps_its_error() -> None:
    syncer, job = ManualSyncer(), Job(fail)
    syncer.submit(job)
    assert not job.done
    syncer.run_next()
    assert job.done and isinstance(job.error, OSError)


def test_a_job_that_fails_unexpectedly_has_not_succeeded() -> None:
    job = Job(lambda: [][0])
    job.run()
    assert job.done and job.error is not None


def test_the_thread_runs_jobs_in_order_and_notifies_after_each(tmp_path: Path) -> None:
    order: list[str] = []
    syncer = ThreadSyncer(lambda: order.append("notified"))
    file = OsFiles().create(f"{tmp_path}/a")
    write_all(file, b"1")
    jobs = [Job(file.sync), Job(fail), Job(lambda: order.append("last"))]
    for job in jobs:
        syncer.submit(job)
    syncer.wait()
    assert order == ["notified", "notified", "last", "notified"]
    assert [job.error is None for job in jobs] == [True, False, True]
    file.close()


def test_waiting_for_nothing_returns() -> None:
    ThreadSyncer().wait()
    ManualSyncer().wait()
