"""A part of the million inputs, and proof that the rules would notice a fault."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import fuzz_server
from tests.fuzz.command_rules import Broken
from tests.fuzz.fuzz_server import Guard, Kind, Replies, Run, run, serving
from tests.fuzz.server_strategies import PASSWORD, Inputs
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration

INPUTS = 40_000
SECONDS = 10.0


def test_a_part_of_the_million_inputs_keeps_all_rules() -> None:
    played, problem = run(seed=1, seconds=SECONDS, inputs=INPUTS)
    assert problem == ""
    assert played.sent > 1000


def test_a_seed_always_means_the_same_inputs() -> None:
    first, same, other = Inputs(7), Inputs(7), Inputs(8)
    batches = [first.batch() for _ in range(100)]
    assert batches == [same.batch() for _ in range(100)]
    assert batches != [other.batch() for _ in range(100)]


# -- faults are noticed --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return Inputs(1)


@pytest.fixture
def played(inputs: Inputs) -> Iterator[tuple[Run, RunningServer]]:
    with serving() as (server, tls_port):
        run = Run(server, tls_port, inputs)
        run.take_turn()
        yield run, server


def test_a_server_that_ends_is_noticed_and_the_last_inputs_are_written_down(
    played: tuple[Run, RunningServer], tmp_path: Path
) -> None:
    run, server = played
    server.kill()
    with pytest.raises(Broken, match="has ended with status -9"):
        run.take_turn()
    run.write_report(tmp_path / "report")
    report = (tmp_path / "report").read_text()
    assert all(repr(link.last_inputs[-1]) in report for link in run.connections)


def test_a_traceback_in_the_log_is_noticed(played: tuple[Run, RunningServer]) -> None:
    run, server = played
    with server.log.open("a") as log:
        log.write("Traceback (most recent call last):\n")
    with pytest.raises(Broken, match=r"(?s)the log has .*Traceback"):
        run.take_turn()


def test_a_server_that_does_not_answer_is_noticed(played: tuple[Run, RunningServer]) -> None:
    _, server = played
    guard = Guard(server, held_seconds=0.1)
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(Broken, match="the guard is not answered"):
            guard.check()
    finally:
        server.process.send_signal(signal.SIGCONT)


def test_a_wrong_answer_is_noticed(played: tuple[Run, RunningServer]) -> None:
    run, server = played
    with server.connect() as client:
        client.send("AUTH", PASSWORD)
        client.send("ACL", "SETUSER", "default", "-get")
    with pytest.raises(Broken, match=r"the guard is answered .*EXECABORT"):
        run.take_turn()


def test_a_server_that_grows_is_noticed(
    played: tuple[Run, RunningServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_server, "MAX_GROWTH_BYTES", -(1 << 30))
    with pytest.raises(Broken, match="the server has grown"):
        played[0].take_turn()


@pytest.mark.parametrize(
    "reply",
    [b"?\r\n", b"*1\r\n$x\r\n", b"-lower case\r\n", b"-ERR internal error, see the log\r\n"],
)
def test_a_malformed_reply_is_noticed(reply: bytes) -> None:
    with pytest.raises(Broken):
        Replies(Kind("orderly")).feed(reply)
