"""`rillway restore --check`: a back-up is read as a whole, and a server starts from it.

The server is a replica without a primary: so nothing expires, no policy removes anything, and its
keys are those of the moment. It has a Unix socket in a folder of its own, and a port of the
loopback address that the system picks, where it refuses all clients without the password of this
run.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rillway.backup.manifest import Backup, BackupError, Node
from rillway.backup.store import Store
from rillway.cluster.process import IMPORT_ROOT, OWN_PROGRAM
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.restore.restoring import Damaged, contents, wanted_files, write_files

START_SECONDS, PAUSE_SECONDS, STOP_SECONDS = 3600.0, 0.02, 10.0
SHOWN_LINES = 3


def check(store: Store, prefix: str, backup: Backup) -> tuple[list[str], dict[str, str]]:
    """Returns a line for each finding, and the digest of each node's data. Raises OSError."""
    findings = list(_damage(store, prefix, backup))
    digests: dict[str, str] = {}
    if not findings:
        for node in backup.nodes:
            with tempfile.TemporaryDirectory(prefix="rillway-check-") as folder:
                try:
                    write_files(store, prefix, wanted_files(node), Path(folder))
                    found, digests[node.name] = _started(node, Path(folder))
                    findings += found
                except BackupError as error:
                    findings.append(f"{node.name}: {error}")
    return findings, digests


def _damage(store: Store, prefix: str, backup: Backup) -> Iterator[str]:
    for node in backup.nodes:
        for file in node.files:
            try:
                for _ in contents(store, prefix, file):
                    pass
            except Damaged as error:
                yield str(error)


def _started(node: Node, folder: Path) -> tuple[list[str], str]:
    """Start a server on the copy, and compare its keys. Raises BackupError if it does not start."""
    with _server(node, folder) as url, Connection(url) as link:
        text = link.call("INFO", "keyspace").decode()
        digest: str = link.call("DEBUG", "DIGEST").decode()
    found = {}
    for line in text.splitlines():
        name, _, figures = line.partition(":")
        if name.startswith("db"):
            values = dict(figure.split("=") for figure in figures.split(","))
            found[name.removeprefix("db")] = [int(values["keys"]), int(values["expires"])]
    return list(_differences(node, found)), digest


def _differences(node: Node, found: dict[str, list[int]]) -> Iterator[str]:
    for index in sorted(node.databases.keys() | found.keys(), key=int):
        keys, timed = found.get(index, [0, 0])
        expected_keys, expected_timed = node.databases.get(index, [0, 0])
        if keys != expected_keys:
            yield f"{node.name}: database {index} has {keys:,} keys instead of {expected_keys:,}"
        elif timed != expected_timed:
            yield (
                f"{node.name}: database {index} has {timed:,} keys with a time to live instead of"
                f" {expected_timed:,}"
            )


@contextmanager
def _server(node: Node, folder: Path) -> Iterator[str]:
    """A server on the copy: its URL."""
    password, path, log = secrets.token_hex(16), folder / "socket", folder / "check.log"
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and nothing listens: there is no primary
        options = {
            "port": "0",
            "bind": "127.0.0.1",
            "unixsocket": str(path),
            "dir": str(folder),
            "requirepass": password,
            "enable-debug-command": "local",
            "databases": str(max(16, 1 + max(map(int, node.databases), default=0))),
            "save": "",
            "auto-aof-rewrite-percentage": "0",
        }
        lines = "".join(f'{name} "{value}"\n' for name, value in options.items())
        lines += f"replicaof 127.0.0.1 {held.getsockname()[1]}\n"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RILLWAY_")}
        paths = [IMPORT_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*OWN_PROGRAM, "serve", "-", *node.files_options],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment | {"PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,
            )
        try:
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin as configuration:
                configuration.write(lines.encode())
            url = f"unix://:{password}@{path}"
            _wait(process, url, log)
            yield url
        finally:
            process.kill()
            process.wait(STOP_SECONDS)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    give_up_s = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_s:
        if process.poll() is not None:
            said = log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
            raise BackupError(f"no server starts from the copy: {' / '.join(said)}")
        with suppress(ConnectionLost, ServerError), Connection(url) as link:
            link.call("DBSIZE")  # an error while it loads
            return
        time.sleep(PAUSE_SECONDS)
    raise BackupError("the server that was started on the copy does not answer")
