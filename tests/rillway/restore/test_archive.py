"""An archive of a stream that went back to a moment: a new epoch, and nothing is lost."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rillway.backup.command import main as backup
from rillway.pipeline.archive.command import main as archive
from rillway.pipeline.query.command import main as query
from rillway.pipeline.wire.connection import Connection
from rillway.restore.command import main as restore
from tests.conftest import StartRillway
from tests.support.programs.servers import start_rillway
from tests.support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.thorough]
DIRECTIVES = (
    *("--appendonly", "yes", "--aof-timestamp-enabled", "yes"),
    *("--aof-keep-increments", "1h"),
)


def test_the_archive_begins_a_new_epoch(
    run_rillway: StartRillway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = run_rillway(*DIRECTIVES)
    url, table = f"redis://127.0.0.1:{server.port}", str(tmp_path / "archive")
    words = ["--url", url, "--stream", "s"]
    with Connection(url) as client:
        first = client.call("XADD", "s", "*", "n", "1").decode()
        second = int(first.partition("-")[0]) // 1000
        until(lambda: time.time() > second + 1)
        client.call("XADD", "s", "*", "n", "2")
        client.call("BGREWRITEAOF")
        until(lambda: b"aof_rewrite_in_progress:0" in client.call("INFO", "persistence"))
        assert archive([*words, "--to", table, "--once"]) == 0
    assert backup(["--url", url, "--to", str(tmp_path / "to")]) == 0
    server.stop()
    moment = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    new = tmp_path / "new"
    assert restore([str(tmp_path / "to"), "--dir", str(new), "--to", moment]) == 0
    copy = start_rillway(new, *DIRECTIVES, port=server.port)
    with Connection(url) as client:
        assert client.call("XLEN", "s") == 1
        client.call("XADD", "s", first.partition("-")[0] + "-7", "n", "3")
        assert archive([*words, "--to", table, "--once"]) == 0
        assert "epoch 2 begins after" in "".join(capsys.readouterr())
        assert query([*words, "--archive", table, "--format", "json"]) == 0
    printed = capsys.readouterr().out
    assert all(f'"{number}"' in printed for number in (1, 2, 3))
    copy.stop()
