"""`make stop`: which of the servers that `make demo` has left running it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
# Like a server in the list of processes, and as easy to end.
SLEEPING = [sys.executable, "-c", "import time; time.sleep(600)", "rillway serve"]


def left_running(run: Path, port: int) -> subprocess.Popen[bytes]:
    """A process in the place of the server that `make demo PORT=port` leaves running."""
    process = subprocess.Popen(SLEEPING)
    folder = run / f"demo-{port}"
    folder.mkdir()
    (folder / "server.pid").write_text(f"{process.pid}\n")
    return process


def stop(run: Path, *words: str) -> None:
    subprocess.run(["make", "-C", ROOT, "stop", f"RUN={run}", *words], check=True)


def test_stop_ends_the_server_on_its_port_and_without_a_port_all(tmp_path: Path) -> None:
    first, second, third = processes = [left_running(tmp_path, port) for port in (1, 2, 3)]
    try:
        stop(tmp_path, "PORT=2")
        until(lambda: second.poll() is not None)
        assert first.poll() is None and third.poll() is None
        stop(tmp_path)
        until(lambda: first.poll() is not None and third.poll() is not None)
        assert not list(tmp_path.glob("*/server.pid"))
    finally:
        for process in processes:
            process.kill()
            process.wait()
