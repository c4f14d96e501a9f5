"""celery, dramatiq, taskiq-redis, streaq and pydocket: tasks are sent, run and answered."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

pytestmark = pytest.mark.integration


def test_celery_runs_a_task(url: str) -> None:
    from celery import Celery, chord, group
    from celery.contrib.testing.worker import start_worker

    app = Celery("app", broker=url, backend=url)
    app.conf.update(broker_connection_retry_on_startup=False, worker_hijack_root_logger=False)

    @app.task(name="add")
    def add(x: int, y: int) -> int:
        return x + y

    @app.task(name="total")
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    with start_worker(app, perform_ping_check=False, loglevel="ERROR", shutdown_timeout=20):
        assert add.delay(2, 3).get(timeout=20) == 5
        assert group(add.s(n, n) for n in range(5))().get(timeout=20) == [0, 2, 4, 6, 8]
        assert chord((add.s(n, 1) for n in range(3)), total.s())().get(timeout=20) == 6


def test_dramatiq_runs_a_task_and_keeps_its_result(url: str) -> None:
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker
    from dramatiq.results import Results
    from dramatiq.results.backends import RedisBackend

    broker = RedisBroker(url=url)
    results = RedisBackend(url=url)
    broker.add_middleware(Results(backend=results))

    @dramatiq.actor(broker=broker, store_results=True)
    def add(x: int, y: int) -> int:
        return x + y

    worker = dramatiq.Worker(broker, worker_timeout=100, worker_threads=2)
    worker.start()
    try:
        sent = [add.send(n, 1) for n in range(10)]
        delayed = add.send_with_options(args=(20, 22), delay=50)
        found = [one.get_result(backend=results, block=True, timeout=20_000) for one in sent]
        assert found == list(range(1, 11))
        assert delayed.get_result(backend=results, block=True, timeout=20_000) == 42
    finally:
        worker.stop()
        broker.close()


def test_taskiq_runs_a_task_through_a_stream(url: str) -> None:
    from taskiq.api import run_receiver_task
    from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

    async def main() -> list[int]:
        broker = RedisStreamBroker(url).with_result_backend(RedisAsyncResultBackend(url))

        @broker.task(task_name="twice")
        async def twice(n: int) -> int:
            return 2 * n

        await broker.startup()
        receiver = asyncio.create_task(run_receiver_task(broker))
        tasks = [await twice.kiq(n) for n in range(5)]
        results = [(await task.wait_result(timeout=20)).return_value for task in tasks]
        receiver.cancel()
        await asyncio.gather(receiver, return_exceptions=True)
        await broker.shutdown()
        return results

    assert asyncio.run(main()) == [0, 2, 4, 6, 8]


def test_streaq_runs_tasks(url: str) -> None:
    import anyio
    from streaq import Worker

    worker = Worker(redis_url=url, handle_signals=False)

    @worker.task
    async def twice(n: int) -> int:
        return 2 * n

    async def main() -> list[int]:
        async with anyio.create_task_group() as group:
            await group.start(worker.run_async)
            tasks = [await twice.enqueue(n) for n in range(5)]
            later = await twice.enqueue(21).start(delay=timedelta(milliseconds=50))
            results = [(await task.result(20)).result for task in (*tasks, later)]
            group.cancel_scope.cancel()
        return results

    assert anyio.run(main) == [0, 2, 4, 6, 8, 42]


def test_pydocket_runs_tasks(url: str) -> None:
    from docket import Docket, Worker

    async def main() -> list[int]:
        done: list[int] = []

        async def note(n: int) -> None:
            done.append(n)

        async with Docket(name="tests", url=url) as docket:
            for n in range(5):
                await docket.add(note)(n)
            await docket.add(note, key="named")(5)
            await docket.add(note, key="named")(6)  # is there already
            await docket.cancel((await docket.add(note, key="never")(7)).key)
            async with Worker(docket, minimum_check_interval=timedelta(milliseconds=5)) as worker:
                await worker.run_until_finished()
        return sorted(done)

    assert asyncio.run(main()) == [0, 1, 2, 3, 4, 5]
