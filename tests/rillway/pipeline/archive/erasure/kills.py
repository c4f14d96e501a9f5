"""Kills `rillway archive erase` at random moments, runs it again, and looks for what is left.

    python -m tests.rillway.pipeline.archive.erasure.kills [--rounds N] [--seed N] [--server NAME]

In some rounds an archiver runs meanwhile, or erased entries come back before the next run.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.erasure.scene import (
    CONDITION,
    STREAMS,
    archive_all,
    damage,
    make_scene,
    others,
    traces,
)
from tests.rillway.pipeline.archive.scene import archived_ids
from tests.support.programs.servers import start_redis, start_rillway

SERVERS = {"redis": start_redis, "rillway": start_rillway}
CATALOGUE = "catalogue.db"
# A run takes about two seconds, of which half is its start.
MAX_SECONDS = 3.0


class Rounds:
    """Rounds on one archive, which each of them begins with anew."""

    def __init__(self, connection: Connection, folder: Path, rng: random.Random) -> None:
        self._connection, self._folder, self._rng = connection, folder, rng
        self._root = folder / "archive"
        make_scene(connection, self._root)
        self._run("iceberg", "--to", str(self._root), *self._catalogue)
        shutil.copytree(self._root, folder / "saved")
        shutil.copy(folder / CATALOGUE, folder / "saved.db")
        self._streams = {name: connection.call("DUMP", name) for name in STREAMS}

    @property
    def _catalogue(self) -> list[str]:
        return ["--iceberg", f"sqlite:///{self._folder}/{CATALOGUE}?timeout=60"]

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "rillway", "archive", *words]

    def _run(self, *words: str) -> str:
        done = subprocess.run(self._command(*words), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _restore_streams(self) -> None:
        for name, payload in self._streams.items():
            self._connection.call("RESTORE", name, 0, payload, "REPLACE")

    def round(self) -> int:
        """Return the number of kills that it took."""
        shutil.rmtree(self._root)
        shutil.copytree(self._folder / "saved", self._root)
        shutil.copy(self._folder / "saved.db", self._folder / CATALOGUE)
        self._connection.call("FLUSHALL")
        self._restore_streams()
        place = ["--to", str(self._root), "--url", self._connection.url]
        erase = ["erase", *place, "--where", CONDITION, "--json", *self._catalogue]
        kills = 0
        archiver = None
        if self._rng.random() < 0.5:
            words = ["--pattern", "*", *place, "--id-unit", "ms", "--every", "0.2s"]
            words += ["--lease", "2s"]
            archiver = subprocess.Popen(self._command(*words), stdout=-3, stderr=-3)
        try:
            while self._rng.random() < 0.8:
                self._kill(erase)
                kills += 1
                if self._rng.random() < 0.2:
                    self._restore_streams()
            self._run(*erase)
        finally:
            if archiver is not None:
                archiver.kill()
                archiver.wait()
        # Entries may be those of an archiver that was killed while it read them.
        again = json.loads(self._run(*erase))
        assert again["entries"] == 0 or archiver is not None, again
        self._check()
        return kills

    def _kill(self, words: list[str]) -> None:
        process = subprocess.Popen(self._command(*words), stdout=-3, stderr=-3)
        time.sleep(self._rng.uniform(0.5, MAX_SECONDS))
        process.kill()
        process.wait()
        # The leases of the dead one.
        for key in self._connection.call("KEYS", "*:lease:*") + self._connection.call(
            "KEYS", "*:erase"
        ):
            self._connection.call("DEL", key)

    def _check(self) -> None:
        assert traces(self._root) == []
        table = ArchiveTable.open(self._root)
        assert damage(self._connection, table) == []
        assert archive_all(self._connection, table).failures == {}
        for name in STREAMS:
            assert sorted(archived_ids(table, name)) == sorted(others()), name
        assert damage(self._connection, table) == []
        assert traces(self._root) == []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--server", choices=SERVERS, default="rillway")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="erase-")))
        server = SERVERS[options.server](folder)
        stack.callback(server.stop)
        connection = stack.enter_context(Connection(f"redis://127.0.0.1:{server.port}"))
        rounds = Rounds(connection, folder, random.Random(options.seed))
        kills = 0
        for number in range(1, options.rounds + 1):
            kills += rounds.round()
            print(f"round {number}: nothing is left after {kills} kills in all", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
