"""`rillway demo departures` as a whole: the real data set, ten processes, two crashes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from rillway.demo.departures.command import LEDGER, STREAM, main
from rillway.demo.service import DemoFailed
from tests.support.programs.servers import RunningServer

ROOT = Path(__file__).parents[4]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rillway", "demo", "departures", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--departures", "10"],
        ["--rate", "fast"],
        ["--port", "-1"],
        ["--keep-server"],
        ["--url", "redis://127.0.0.1", "--port", "7000"],
    ],
)
def test_a_bad_argument_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "rillway demo departures: error" in capsys.readouterr().err


@pytest.mark.integration
def test_every_departure_is_acknowledged_once_though_two_consumers_crash(tmp_path: Path) -> None:
    """And the server that was kept goes on with the stream in it."""
    run = demo("--departures", "3000", "--keep-server", "--directory", str(tmp_path))
    pid = int((tmp_path / "server.pid").read_text())
    try:
        assert run.returncode == 0, run.stdout + run.stderr
        assert "All 3,000 departures were acknowledged exactly once." in run.stdout
        killed = r"consumer-\d\d was killed, holding \d+ departures?"
        assert len(re.findall(killed, run.stdout)) == 2
        assert re.search(r"^Processed between \d+ and \d+ ms -> [\d.]+%$", run.stdout, re.MULTILINE)
        port = re.search(r"redis-cli -p (\d+)", run.stdout)
        assert port is not None
        with redis.Redis(port=int(port[1])) as client:
            assert client.xlen(STREAM) == 3_000
            assert client.xlen(LEDGER) > 0
    finally:
        os.kill(pid, signal.SIGTERM)


@pytest.mark.integration
def test_keys_that_exist_are_not_deleted_unasked(rillway_server: RunningServer) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with redis.Redis.from_url(url) as client:
        client.flushall()
        client.set(STREAM, "mine")
        with pytest.raises(DemoFailed, match="--overwrite"):
            main(["--url", url])
        assert client.get(STREAM) == b"mine"
