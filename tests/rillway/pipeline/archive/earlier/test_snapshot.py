"""RDB files as servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rillway.pipeline.archive.earlier.snapshot import served
from rillway.pipeline.archive.files.store import ArchiveError
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import add_many
from tests.support.programs.servers import ROOT
from tests.support.waiting import until

pytestmark = pytest.mark.integration


def test_what_is_no_snapshot_is_an_error_with_its_reason(tmp_path: Path) -> None:
    place = tmp_path / "an old one.rdb"
    place.write_bytes(b"hello")
    why = r"an old one\.rdb cannot be loaded: .*hello"
    with pytest.raises(ArchiveError, match=why), served(place):
        pass
    assert place.read_bytes() == b"hello"


# Prints where the server of a snapshot has its files, and is killed then.
KILLED = """
import os, signal, sys
from pathlib import Path
from rillway.pipeline.archive.earlier.snapshot import served
with served(Path(sys.argv[1])) as connection:
    print(connection.call("DBSIZE"), connection.call("INFO", "server").decode(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_its_server_ends_with_who_has_started_it(redis_link: Connection, tmp_path: Path) -> None:
    add_many(redis_link, 5)
    redis_link.call("SAVE")
    _, folder = redis_link.call("CONFIG", "GET", "dir")
    _, name = redis_link.call("CONFIG", "GET", "dbfilename")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, Path(folder.decode(), name.decode())],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.startswith("1 ")
    [line] = [one for one in done.stdout.splitlines() if one.startswith("process_id:")]
    process = Path("/proc", line.removeprefix("process_id:").strip())
    until(lambda: not process.exists(), "it goes on")
    until(lambda: not list(tmp_path.iterdir()), "its files are left")
