"""Jobs that the console's actions touch are done by the frameworks' own workers, each once."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from redis import Redis
from rq import Queue as RqQueue
from rq import SimpleWorker
from rq.job import Job as RqJob

from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.sampling import find_queues
from rillway.queues.finder import Finder
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import Action

pytestmark = pytest.mark.integration

DONE = "done"


def note(url: str, number: int, *, fails_first: bool = False) -> int:
    """A job: note that it ran; the first time it may fail."""
    with Redis.from_url(url) as client:
        if fails_first and client.incr(f"tries:{number}") == 1:
            raise ValueError("boom")
        client.rpush(DONE, number)
    return number


def act(url: str, framework: str, label: bytes, action: Action, ids: Sequence[str]) -> int:
    """Find the queue, and do an action, as the console does."""
    with Connection(url) as connection:
        finder = Finder(share=1)
        assert find_queues(connection, finder, lambda _: False)
        known = finder.find(framework, label)
        assert known is not None and known.is_queue
        steps = BY_NAME[framework].act(action, known.queue, ids, time.time_ns() // 1_000_000)
        requests = next(steps)
        while True:
            try:
                requests = steps.send(connection.call_all(requests))
            except StopIteration as end:
                done: int = end.value
                return done


def test_rq_does_each_job_once(url: str) -> None:
    with Redis.from_url(url) as client:
        queue = RqQueue("mail", connection=client)
        failing = queue.enqueue(note, url, 1, fails_first=True)
        worker = SimpleWorker([queue], connection=client)
        worker.work(burst=True, logging_level="CRITICAL")
        assert failing.get_status(refresh=True) == "failed"
        jobs = [queue.enqueue(note, url, number) for number in (2, 3, 4)]
        assert act(url, "rq", b"mail", "remove", [jobs[1].id]) == 1
        assert act(url, "rq", b"mail", "retry", [failing.id]) == 1
        assert act(url, "rq", b"mail", "front", [jobs[2].id]) == 1
        SimpleWorker([queue], connection=client).work(burst=True, logging_level="CRITICAL")
        assert client.lrange(DONE, 0, -1) == [b"4", b"2", b"1"]
        assert failing.get_status(refresh=True) == "finished"
        assert not RqJob.exists(jobs[1].id, connection=client)


def test_celery_does_each_task_once(url: str) -> None:
    from celery import Celery
    from celery.contrib.testing.worker import start_worker

    app = Celery("app", broker=url, backend=url)
    app.conf.update(
        broker_connection_retry_on_startup=False,
        worker_hijack_root_logger=False,
        result_extended=True,
    )
    task = app.task(name="note")(note)
    options = {"perform_ping_check": False, "loglevel": "CRITICAL", "shutdown_timeout": 20}
    with start_worker(app, **options):
        failing = task.delay(url, 1, fails_first=True)
        assert str(failing.get(timeout=20, propagate=False)) == "boom"
    tasks = [task.delay(url, number) for number in (2, 3, 4)]
    assert act(url, "celery", b"celery", "remove", [tasks[1].id]) == 1
    assert act(url, "celery", b"celery", "front", [tasks[2].id]) == 1
    assert act(url, "celery", b"celery", "retry", [failing.id]) == 1
    with start_worker(app, **options), Redis.from_url(url) as client:
        done = [client.blpop([DONE], 20) for _ in range(3)]
    assert sorted(done) == [(b"done", b"1"), (b"done", b"2"), (b"done", b"4")]
    with Redis.from_url(url) as client:
        assert client.exists(DONE, "celery") == 0
