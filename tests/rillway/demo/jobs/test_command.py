"""`rillway demo`: workers are killed, and every job is done."""

from __future__ import annotations

import os
import re
import sys
from random import Random

import pytest
import redis

from rillway.demo.jobs import command
from rillway.demo.jobs.work import DEAD_LETTERS, DONE, GROUP, JOBS
from rillway.demo.service import DemoFailed
from tests.support.programs.servers import ROOT, RunningServer
from tests.support.programs.terminal import Terminal

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def empty(rillway_server: RunningServer) -> None:
    with redis.Redis(port=rillway_server.port) as client:
        client.flushall()


def test_every_job_is_done_though_workers_are_killed(
    rillway_server: RunningServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "DRAIN_SECONDS", 120.0)
    monkeypatch.setattr(command, "REPLACE_SECONDS", 0.5)
    url = f"redis://127.0.0.1:{rillway_server.port}"
    killed: list[str] = []
    printed = ""
    for seconds in (5, 20, 60):  # on a busy machine workers start late
        monkeypatch.setattr(command, "KILL_SECONDS", 0.3 * seconds)
        words = ["--url", url, "--for", f"{seconds}s", "--rate", "20", "--overwrite"]
        assert command.main(words) == 0
        printed = capsys.readouterr().out
        assert "Every job was done, or is among the dead letters." in printed
        killed = re.findall(r"worker-\d+ was killed, with \d+ jobs? in hand", printed)
        if killed:
            break
    assert killed
    assert re.search(rf"^  killed +{len(killed)} of the workers, ", printed, re.MULTILINE)
    with redis.Redis.from_url(url) as client:
        added = client.xlen(JOBS)
        assert added > 50
        assert client.scard(DONE) + client.xlen(DEAD_LETTERS) == added
        assert client.xpending(JOBS, GROUP)["pending"] == 0


def test_a_lost_job_is_a_failure(
    rillway_server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with redis.Redis.from_url(url) as client:
        queue = command.Queue(client, url, Random(1))
        queue.add(3)
        client.sadd(DONE, "1-1", "2-1")
        assert not command.report(queue)
    printed = capsys.readouterr().out
    assert re.search(r"^  lost +1$", printed, re.MULTILINE)
    assert "Jobs were LOST" in printed


def test_keys_that_exist_are_not_deleted_unasked(rillway_server: RunningServer) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with redis.Redis.from_url(url) as client:
        client.set(JOBS, "mine")
        with pytest.raises(DemoFailed, match="--overwrite"):
            command.main(["--url", url, "--for", "1s"])
        assert client.get(JOBS) == b"mine"


def test_on_a_terminal_top_shows_it_until_q(rillway_server: RunningServer) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    argv = [sys.executable, "-m", "rillway", "demo", "--url", url]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with Terminal(argv, rows=30, columns=100, environment=environment) as terminal:
        terminal.wait_until(lambda lines: any("worker-4" in line for line in lines))
        terminal.type("q")
        text = terminal.read_to_end(seconds=60)  # all jobs are done first
        assert "Every job was done, or is among the dead letters." in text
        assert terminal.process.wait() == 0


@pytest.mark.parametrize("arguments", [["--for", "20"], ["--rate", "0"], ["--keep-server"]])
def test_a_bad_argument_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        command.main(arguments)
    assert exit_.value.code == 2
    assert "rillway demo: error" in capsys.readouterr().err
