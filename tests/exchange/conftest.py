"""Servers for the exchange of data, each in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.conftest import compared_valkey_or_skip
from tests.crash.servers import (
    Server,
    begin_redis_with,
    start_redis,
    start_rillway,
    wait_until_loaded,
)
from tests.exchange.running import Run, Running
from tests.support.programs.servers import redis_version

FOR_REDIS_7_0 = ("--rdb-stream-type", "19")
STAYS = ("--save", "", "--enable-debug-command", "yes")


def start_valkey(data: Path, log: Path, directives: tuple[str, ...]) -> Server:
    """The Valkey that the tests compare with, on the folder `data`, once it has loaded."""
    begin = begin_redis_with(compared_valkey_or_skip())
    return wait_until_loaded(begin(data, log, directives))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """run(kind, directives..., files=[...]): a server with copies of these files.

    `kind`: "rillway", which writes for Redis 7.0 unless it is told otherwise, "redis" or "valkey".
    """
    started: list[Running] = []
    assert redis_version().startswith("7.0.")
    ways = {"rillway": start_rillway, "redis": start_redis, "valkey": start_valkey}

    def begin(
        kind: str, *directives: str, files: tuple[Path, ...] = (), warns: bool = False
    ) -> Running:
        folder = tmp_path / f"{len(started)}-{kind}"
        folder.mkdir()
        for path in files:
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, folder / path.name)
        log = tmp_path / f"{folder.name}.log"
        more = FOR_REDIS_7_0 if kind == "rillway" and "--rdb-stream-type" not in directives else ()
        server = ways[kind](folder, log, (*STAYS, *more, *directives))
        assert warns or server.unexpected_warnings() == []
        started.append(Running(server, folder))
        return started[-1]

    yield begin
    for server in started:
        server.stop()
