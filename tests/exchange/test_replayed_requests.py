"""What redis-server appends to its file while it runs gives the same data here as there.

Redis writes forms that it takes from no client: whatever it reads back, Rillway must read as well.
Each script of the edges is run on a redis-server; then it loads its own file, and so does an
in-process Rillway its part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hiredis
import pytest

from server.inprocess.server import InProcessServer, Word
from server.persistence.loading.replay import Replay
from storage.append_only.reader import RequestFile
from tests.compat.commands.sequences import resolved
from tests.compat.edges.streams import EDGES, commands_of
from tests.crash.observation import Ask
from tests.crash.servers import Link, start_redis
from tests.exchange.views import differences, view
from tests.support.programs.redis_cli import split_line
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat

INCREMENT = "appendonlydir/appendonly.aof.1.incr.aof"
APPENDING = (
    "--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--save", "",
    "--enable-debug-command", "yes",
)  # fmt: skip
# The commands before each script: it begins with no data, and its part of the file in database 0.
BEGINNING = ("DISCARD", "UNWATCH", "SELECT 1", "SET x 1", "SELECT 0", "SET x 1", "FLUSHALL")
# Odd IDs that are IDs after all are written in many ways; one of each command shows that.
SCRIPTS = {name: script for name, script in EDGES.items() if not name.startswith("odd IDs: XR")}
HOW = {"lag": False, "seen_times": False}


@dataclass
class Appending:
    """A redis-server with an append-only file."""

    client: RespClient
    link: Link
    file: Path

    def run(self, lines: list[str]) -> bytes:
        """What it appends for these commands."""
        self._send([split_line(line) for line in BEGINNING])
        start = self.file.stat().st_size
        self._send(resolved([list(split_line(line)) for line in lines]))
        self._send([[b"DISCARD"]])
        assert self.link.ask("DEBUG", "LOADAOF") == b"OK"  # which writes what is in the buffer
        return self.file.read_bytes()[start:]

    def _send(self, commands: list[list[bytes]]) -> None:
        self.client.write_all(commands)
        for _ in commands:
            self.client.read_reply()


@pytest.fixture(scope="module")
def appending(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appending]:
    folder = tmp_path_factory.mktemp("redis")
    server = start_redis(folder, folder / "redis.log", APPENDING)
    link = Link(server.port)
    with RespClient(server.port) as client:
        yield Appending(client, link, folder / INCREMENT)
    link.close()
    server.stop()


def asking(server: InProcessServer) -> Ask:
    client = server.connect()

    def ask(*words: Word) -> object:
        reader = hiredis.Reader()
        reader.feed(client.execute(*words))
        return reader.gets()

    return ask


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_leaves_the_same_data_here_as_there(appending: Appending, name: str) -> None:
    data = appending.run(commands_of(SCRIPTS[name]))
    server = InProcessServer()
    replay = Replay(server.instance, name)
    for batch in RequestFile(data).batches():
        replay.run(batch)
    assert (replay.refusals, replay.open_unit_offset) == ({}, None)
    assert differences(view(appending.link.ask, **HOW), view(asking(server), **HOW)) == []
