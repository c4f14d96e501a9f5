"""Back-ups while `rillway backup`, or the server, is killed at each of their steps, under writes.

A finished back-up has what was acknowledged before it began, and no half of anything; an unfinished
one is refused, with its reason.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rillway.backup import store as stores
from rillway.backup.catalogue import names
from rillway.backup.command import main as backup
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.restore.command import main as restore
from tests.rillway.backup.copies import started
from tests.support.programs.servers import start_rillway
from tests.support.waiting import until

pytestmark = pytest.mark.integration

DIRECTIVES = ("--appendonly", "yes", "--appendfsync", "always", "--aof-keep-increments", "1h")
STEPS = ("make", "write", "copy", "link", "put", "settle")
MOST_STEPS = 40
PAUSE_SECONDS = 0.002


class Writer:
    """A process that adds entries 1-1, 2-1 ... and notes those that were acknowledged in a file."""

    def __init__(self, url: str, folder: Path) -> None:
        self._acknowledged, self._url = folder / "acknowledged", url
        self._acknowledged.touch()
        self._pid = os.fork()
        if not self._pid:
            try:
                self._run()
            finally:
                os._exit(1)

    def _run(self) -> None:
        log = os.open(self._acknowledged, os.O_WRONLY | os.O_APPEND)
        number = 0
        while True:
            with suppress(ConnectionLost), Connection(self._url) as link:
                while True:
                    number += 1
                    with suppress(ServerError):  # it is loading
                        link.call("XADD", "s", f"{number}-1", "n", "x" * (number % 500))
                        os.write(log, b"%d\n" % number)
                    if number % 200 == 0:
                        with suppress(ServerError):
                            link.call("BGREWRITEAOF")
            time.sleep(PAUSE_SECONDS)

    def acknowledged(self) -> list[int]:
        return [int(line) for line in self._acknowledged.read_bytes().split(b"\n")[:-1]]

    def stop(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


class Scene:
    """A server under writes, and the place of its back-ups."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder / "server", folder / "to"
        self.folder.mkdir()
        self.server = start_rillway(self.folder, *DIRECTIVES)
        self.url = f"redis://127.0.0.1:{self.server.port}"
        self.writer = Writer(self.url, folder)
        until(lambda: len(self.writer.acknowledged()) > 100)
        self.before: dict[str, list[int]] = {}  # what was acknowledged, by the next back-up
        self.finished = self.refused = 0

    def close(self) -> None:
        self.writer.stop()
        self.server.stop()

    def start_again(self) -> None:
        self.server.kill()  # it runs if the back-up had fewer steps
        self.server = start_rillway(self.folder, *DIRECTIVES, port=self.server.port)
        acknowledged = len(self.writer.acknowledged())
        until(lambda: len(self.writer.acknowledged()) > acknowledged)

    def back_up(self, victim: int | None, step: int, *words: str) -> int | None:
        """Run `rillway backup` in a process that kills one (None: itself) before a step.

        Returns its exit status; None if it was killed.
        """
        acknowledged = self.writer.acknowledged()
        pid = os.fork()
        if not pid:
            try:
                kill_at(step, os.getpid() if victim is None else victim)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os._exit(backup(["--url", self.url, "--to", str(self.place), *words]))
            finally:
                os._exit(99)
        _, status = os.waitpid(pid, 0)
        for name in names(stores.FolderStore(self.place)):
            self.before.setdefault(name, acknowledged)
        return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)

    def check_all(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Restore each back-up, and compare it with what the writer was told."""
        for number, (name, before) in enumerate(self.before.items()):
            new = self.place.parent / f"new-{number}"
            status = restore([str(self.place / name), "--dir", str(new)])
            printed = capsys.readouterr().err
            if not (self.place / name / "backup.json").exists():
                assert status == 1 and "was not finished: it has no backup.json" in printed
                self.refused += 1
                continue
            assert status == 0, printed
            found = numbers_in(new)
            assert set(before) <= set(found), name
            # Of what came after, no later entry without the earlier ones.
            after = [each for each in self.writer.acknowledged() if each <= found[-1]]
            assert set(after) <= set(found), name
            self.finished += 1


def kill_at(step: int, victim: int) -> None:
    """Kill a process when the store is called for the `step`-th time."""
    calls = 0

    def counted(method: Any) -> Any:
        def call(*words: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(victim, signal.SIGKILL)
            return method(*words)

        return call

    for name in STEPS:
        setattr(stores.FolderStore, name, counted(getattr(stores.FolderStore, name)))


def numbers_in(folder: Path) -> list[int]:
    entries = started(folder).connect().execute("XRANGE", "s", "-", "+")
    return [int(found) for found in re.findall(rb"\r\n(\d+)-1\r\n", entries)]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def kill_back_ups(scene: Scene, stride: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Kill back-ups at each `stride`-th step, until one has no more steps."""
    killed = 0
    for step in range(1, MOST_STEPS, stride):
        if scene.back_up(None, step, "--incremental") == 0:
            break
        killed += 1
    assert killed * stride > 10
    assert scene.back_up(None, 0, "--incremental") == 0
    scene.check_all(capsys)
    assert scene.finished >= 1 and scene.refused >= killed - 3


def test_a_back_up_that_is_killed_is_finished_or_refused(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_back_ups(scene, 4, capsys)


@pytest.mark.thorough
def test_a_back_up_that_is_killed_at_any_step_is_finished_or_refused(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_back_ups(scene, 1, capsys)


def kill_the_server(scene: Scene, steps: range, capsys: pytest.CaptureFixture[str]) -> None:
    statuses = []
    for step in steps:
        statuses.append(scene.back_up(scene.server.process.pid, step))
        scene.start_again()
    scene.check_all(capsys)
    # Once its files are opened, a back-up is made, whatever happens to the server; before, it
    # fails, and leaves nothing.
    assert statuses == [1] * statuses.count(1) + [0] * statuses.count(0)
    assert scene.finished == statuses.count(0) > statuses.count(1) and not scene.refused


def test_a_server_that_is_killed_does_not_harm_its_back_up(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_the_server(scene, range(4, 11, 3), capsys)


@pytest.mark.thorough
def test_a_server_that_is_killed_at_any_step_does_not_harm_its_back_up(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_the_server(scene, range(4, 20), capsys)
