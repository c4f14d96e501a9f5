"""Serves an RDB file: a private `rillway serve` process that loads it.

So any file that a server can load can be read, by the usual requests. The file is only linked to,
and nothing is saved. The process ends with this one, however that ends.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import rillway
from rillway.net.polling import poll
from rillway.pipeline.archive.files.store import ArchiveError
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError

# The folder of this package, so that the child imports the same one from any working directory.
IMPORT_ROOT = str(Path(rillway.__file__).parent.parent)
FILE_NAME, SOCKET_NAME, LOG_NAME, CONFIGURATION = "backup.rdb", "socket", "log", "conf"
DIRECTIVES = """
port 0
unixsocket {folder}/{socket}
unixsocketperm 700
requirepass {password}
dir {folder}
dbfilename {file}
save ""
appendonly no
"""
# `rillway serve`, ending when its standard input is closed.
PROGRAM = """
import sys, threading
from rillway.testing.launcher import follow
parent, folder, configuration = sys.argv[1:]
threading.Thread(target=follow, args=(int(parent), 0, folder), daemon=True).start()
from rillway.__main__ import serve
sys.exit(serve([configuration]))
"""
POLL_SECONDS, STOP_SECONDS = 0.05, 10.0


@contextmanager
def served(file: Path, database: int = 0) -> Iterator[Connection]:
    """Load a file and connect to a database of it. Raises ArchiveError if that fails."""
    with TemporaryDirectory(prefix="rillway-rdb-") as name:
        folder, password = Path(name), secrets.token_hex(16)
        (folder / FILE_NAME).symlink_to(file.resolve())
        process = _start(folder, password)
        try:
            url = f"unix://:{password}@{folder}/{SOCKET_NAME}?db={database}"
            with _connected(url, process, folder, file) as connection:
                yield connection
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdin is not None
            process.stdin.close()


def _start(folder: Path, password: str) -> subprocess.Popen[bytes]:
    words = {"folder": folder, "socket": SOCKET_NAME, "file": FILE_NAME, "password": password}
    (folder / CONFIGURATION).write_text(DIRECTIVES.format(**words))
    # Environment variables would override the configuration file.
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RILLWAY_")}
    with (folder / LOG_NAME).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(os.getpid()), str(folder), CONFIGURATION],
            cwd=folder,
            env=kept | {"PYTHONPATH": IMPORT_ROOT},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C must not reach it
        )


def _connected(url: str, process: subprocess.Popen[bytes], folder: Path, file: Path) -> Connection:
    """A connection to the server, once it has loaded its file. Raises ArchiveError."""
    found = poll(
        lambda: _answering(url) or process.poll() is not None,
        float("inf"),
        pause_s=POLL_SECONDS,
    )
    if isinstance(found, Connection):
        return found
    *_, last = ["", *(folder / LOG_NAME).read_text(errors="replace").strip().splitlines()]
    said = last.partition(" # ")[2].replace(FILE_NAME, str(file))
    raise ArchiveError(said or f"{file}: cannot be loaded: {last}")


def _answering(url: str) -> Connection | None:
    """A connection to the server, once it has loaded its file."""
    try:
        connection = Connection(url)
    except (ConnectionLost, ServerError):
        return None
    try:
        connection.call("PING")
    except (ConnectionLost, ServerError):
        connection.close()
        return None
    return connection
