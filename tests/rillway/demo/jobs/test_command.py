"""`rillway demo`: jobs make all kinds of trouble, and every one is accounted for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from random import Random

import pytest
import redis

from rillway.demo.jobs import audit, command, queue
from rillway.demo.jobs.command import Works
from rillway.demo.jobs.queue import Client, Queue
from rillway.demo.jobs.work import GROUP, JOBS, Trouble
from rillway.demo.jobs.worker import Crew
from rillway.demo.service import DemoFailed, walk
from tests.support.programs.servers import PROGRAM_PATH, RunningServer
from tests.support.programs.terminal import Terminal

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def empty(rillway_server: RunningServer) -> None:
    with redis.Redis(port=rillway_server.port) as client:
        client.flushall()


@pytest.fixture
def works(rillway_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Works]:
    """Two workers, and short times."""
    monkeypatch.setattr(command, "WORKERS", 2)
    monkeypatch.setattr(command, "REPLACE_SECONDS", 0.0)
    monkeypatch.setattr(command, "STUCK_SECONDS", 120.0)
    monkeypatch.setattr(queue, "ACK_WAIT_MS", 400)
    monkeypatch.setattr(queue, "BACKOFF_MS", (10,))
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with Client.from_url(url) as client:
        crew = Crew(url)
        yield Works(Queue(client, Random(1), 200), crew, lambda _: None)
        crew.stop()


def test_every_kind_of_trouble_is_accounted_for(
    works: Works, rillway_server: RunningServer
) -> None:
    # Alone: nothing can hold its worker up, so it is certain to do the job and crash.
    works.queue.add(1, Trouble.CRASH)
    command.drain(works)
    for trouble in Trouble:
        works.queue.add(1 if trouble == Trouble.HANG else 2, trouble)
    works.queue.add(40)
    command.finish(works, f"redis://127.0.0.1:{rillway_server.port}")
    with Client(port=rillway_server.port) as client:
        books = audit.read_books(client, in_order=True)
        hopeless = {
            int(fields[b"job"])
            for _, fields in walk(client, JOBS)
            if fields[b"trouble"] == Trouble.HOPELESS.encode()
        }
        assert client.xpending(JOBS, GROUP)["pending"] == 0
    assert len(books.added) == works.queue.added == 54
    assert books.are_right
    assert books.crash[1] == 1 and books.repeated[1]
    assert books.crashed
    # A machine that stalls may bring others there, but not out of the account.
    assert hopeless <= set(books.dead)
    assert hopeless <= books.returned


def test_on_a_plain_redis_others_take_over(
    redis_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "WORKERS", 2)
    monkeypatch.setattr(command, "CRASH_SECONDS", 0.0)
    monkeypatch.setattr(command, "LINE_SECONDS", 0.1)
    monkeypatch.setattr(command, "REPLACE_SECONDS", 0.0)
    monkeypatch.setattr(command, "STUCK_SECONDS", 120.0)
    monkeypatch.setattr(queue, "PLAIN_SHARES", {})
    words = ["--url", f"redis://127.0.0.1:{redis_server.port}", "--overwrite", "--rate", "100"]
    # One step, however long it takes.
    monkeypatch.setattr(command, "STEP_SECONDS", 0.3)
    assert command.main([*words, "--for", "250ms"]) == 0
    with Client(port=redis_server.port) as client:
        books = audit.read_books(client, in_order=False)
    assert books.are_right and books.crashed and len(books.added) > 10


def test_a_missing_job_is_a_failure(
    rillway_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "run", lambda works, *_: works.queue.add(3))
    monkeypatch.setattr(command, "finish", lambda *_: None)
    url = f"redis://127.0.0.1:{rillway_server.port}"
    assert command.main(["--url", url]) == 1


def test_a_queue_that_gets_no_shorter_is_a_failure(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "STUCK_SECONDS", 0.1)
    monkeypatch.setattr(works, "tend", lambda: None)
    works.queue.add(3)
    with pytest.raises(DemoFailed, match="3 jobs"):
        command.drain(works)


def test_keys_that_exist_are_not_deleted_unasked(rillway_server: RunningServer) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with redis.Redis.from_url(url) as client:
        client.set(JOBS, "mine")
        with pytest.raises(DemoFailed, match="--overwrite"):
            command.main(["--url", url, "--for", "1s"])
        assert client.get(JOBS) == b"mine"


def test_on_a_terminal_top_shows_it_until_q(rillway_server: RunningServer) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    argv = [sys.executable, "-m", "rillway", "demo", "--url", url, "--rate", "2"]
    environment = os.environ | {"PYTHONPATH": PROGRAM_PATH}
    with Terminal(argv, rows=30, columns=100, environment=environment) as terminal:
        terminal.wait_until(lambda lines: any("worker-4" in line for line in lines))
        terminal.type("q")
        terminal.read_to_end(seconds=120)  # all jobs are done first
        assert terminal.process.wait() == 0
    with Client.from_url(url) as client:
        assert audit.read_books(client, in_order=True).are_right


@pytest.mark.parametrize("arguments", [["--for", "20"], ["--rate", "0"], ["--keep-server"]])
def test_a_bad_argument_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        command.main(arguments)
    assert exit_.value.code == 2
    assert "rillway demo: error" in capsys.readouterr().err
