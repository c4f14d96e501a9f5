"""`rillway restart` with live Sentinels, and what it says where Sentinel does not help."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from rillway.restart.command import Restart, main
from rillway.restart.watched import Address, RestartFailed, State
from tests.compat.conftest import compared_valkey_or_skip
from tests.failover.cluster import NAME, Cluster, Node, wait_for
from tests.failover.load import PLAIN, WAITED, Ledger, messages, under_load
from tests.support.programs.servers import SERVED

OLD, NEW = ("10.0.0.1", 6379), ("10.0.0.2", 6379)


def rillway_restart(cluster: Cluster, *command: str) -> subprocess.CompletedProcess[str]:
    words = ["--sentinel", f"redis://127.0.0.1:{cluster.sentinel_ports[0]}", "--name", NAME]
    argv = [sys.executable, "-m", "rillway", "restart", *words, "--", *command]
    return subprocess.run(argv, cwd=SERVED, capture_output=True, text=True)


@contextmanager
def supervised(node: Node) -> Iterator[None]:
    """Start the server again when it has ended, as a supervisor would."""
    is_over = threading.Event()

    def supervise() -> None:
        assert node.process is not None
        node.process.wait()
        node.start()
        is_over.wait()  # the new process ends with the thread that started it

    with ThreadPoolExecutor() as threads:
        supervising = threads.submit(supervise)
        yield
        is_over.set()
    supervising.result()


@pytest.mark.integration
@pytest.mark.thorough  # Sentinels take ten seconds to know one another
@pytest.mark.parametrize(
    ("kinds", "maker"),
    [
        pytest.param(("rillway", "rillway"), "redis", id="rillway"),
        pytest.param(("rillway", "redis"), "redis", id="a redis as replica"),
        pytest.param(("redis", "rillway"), "redis", id="a redis as primary"),
        pytest.param(("rillway", "rillway"), "valkey", id="Valkey's Sentinel"),
    ],
)
def test_a_primary_restarts_under_load_and_nothing_is_lost_that_a_replica_had(
    tmp_path: Path, kinds: tuple[str, ...], maker: str
) -> None:
    sentinel: tuple[str, ...] = ("redis-sentinel",)
    if maker == "valkey":
        sentinel = (compared_valkey_or_skip(), "--sentinel")
    ledger = Ledger()
    with Cluster(tmp_path / "set", kinds, sentinel=sentinel) as cluster:
        old, new = cluster.nodes
        with supervised(old), under_load(cluster, ledger):
            wait_for(lambda: ledger.has_acknowledged_after(0.0), "nothing is written")
            done = rillway_restart(cluster, "redis-cli", "-p", "{port}", "SHUTDOWN", "NOSAVE")
        assert done.returncode == 0, done.stdout + done.stderr
        first, second = f"127.0.0.1:{old.port}", f"127.0.0.1:{new.port}"
        assert done.stdout.splitlines()[-3:] == [
            f"{first} hands over (SENTINEL FAILOVER {NAME})",
            f"{second} is the primary now, and {first} its replica",
            f"{first} restarted, and follows {second}",
        ]
        with new.client() as client:
            kept = messages(client)
    lost = [message for message in ledger.acknowledged() if message not in kept]
    assert [message for message in lost if message[0] == WAITED] == []
    assert all(message[0] == PLAIN for message in lost)


# -- what is said ----------------------------------------------------------------------------------


class FakeSet:
    """A set of two servers whose Sentinels do as told."""

    name = NAME

    def __init__(self, *refusals: str, moves: bool = True) -> None:
        self.refusals = list(refusals)
        self.moves = moves
        self.leads = OLD
        self.run_ids = ["a"]  # of the old primary: the next one at each look, the last one stays

    def primary(self) -> Address:
        return OLD

    def agreed_primary(self) -> Address | None:
        return self.leads

    def ask_for_failover(self) -> str:
        if self.refusals:
            return self.refusals.pop(0)
        self.leads = NEW if self.moves else OLD
        return ""

    def turn_into_replica(self, server: Address, primary: Address) -> None:
        assert (server, primary) == (OLD, NEW)

    def state(self, server: Address) -> State | None:
        run_id = self.run_ids.pop(0) if len(self.run_ids) > 1 else self.run_ids[0]
        return State(run_id, self.leads)


def restart(fake: FakeSet, command: str = "", seconds: float = 0.0) -> list[str]:
    said: list[str] = []
    Restart(fake, seconds, said.append).run(shlex.split(command))  # type: ignore[arg-type]
    return said


def test_without_a_command_it_says_what_to_restart() -> None:
    assert restart(FakeSet())[-1] == "Restart 10.0.0.1:6379 now, the way it was started"


def test_a_command_is_given_the_address(tmp_path: Path) -> None:
    fake, file = FakeSet(), tmp_path / "words"
    fake.run_ids = ["a", "a", "b"]
    said = restart(fake, f"sh -c 'echo {{host}} {{port}} >{file}'")
    assert file.read_text() == "10.0.0.1 6379\n"
    assert said[-1] == "10.0.0.1:6379 restarted, and follows 10.0.0.2:6379"


def test_sentinel_is_asked_again_until_it_knows_that_a_replica_is_fit() -> None:
    fake = FakeSet("NOGOODSLAVE None")
    restart(fake, seconds=60.0)
    assert fake.leads == NEW


@pytest.mark.parametrize(
    ("fake", "command", "reason"),
    [
        (FakeSet("INPROG Failover already in progress"), "", "Sentinel refuses: INPROG"),
        (FakeSet(*["NOGOODSLAVE None"] * 9), "", "Sentinel refuses: NOGOODSLAVE None"),
        (FakeSet(moves=False), "", "no replica takes over from 10.0.0.1:6379"),
        (FakeSet(), "false", "status 1. 10.0.0.2:6379 is the primary; left to do is the restart of "
         "10.0.0.1:6379 alone: false"),
        (FakeSet(), "/no/such", "/no/such cannot be run: No such file or directory. "),
        (FakeSet(), "true", "10.0.0.1:6379 is not back as a replica in step after the command"),
    ],
)  # fmt: skip
def test_what_does_not_come_true_is_said(fake: FakeSet, command: str, reason: str) -> None:
    with pytest.raises(RestartFailed, match=reason.replace(".", r"\.")):
        restart(fake, command)


def test_a_sentinel_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sentinel", "redis://127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.startswith("rillway restart: Sentinel does not answer: ")


def test_a_command_must_follow_the_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--sentinel", "redis://127.0.0.1:1", "--"])
    assert "expected a command after --" in capsys.readouterr().err
