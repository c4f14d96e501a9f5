"""A short run of the command fuzzer, and proof that its rules would notice a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from commands.core.client import Client
from commands.core.registry import COMMANDS, Handler, Reply
from protocol import replies
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import make_id
from storage.stream import Stream
from tests.fuzz.command_rules import Broken, check_reply
from tests.fuzz.command_strategies import Clock, Drawing, Leave, Round, Send
from tests.fuzz.fuzz_commands import Player, described, failure, run
from tests.support.examples import examples

Corrupt: TypeAlias = Callable[[Player], object]

ROUNDS = 10
SECONDS = 120.0


def test_random_rounds_keep_all_rules() -> None:
    wanted = examples(50)
    rounds, requests, problem = run(seed=1, seconds=SECONDS, rounds=wanted)
    assert problem == ""
    assert rounds == wanted and requests > 100 * wanted


def test_a_seed_always_means_the_same_round() -> None:
    assert Drawing(7).round(50) == Drawing(7).round(50)
    assert Drawing(7).round(50) != Drawing(8).round(50)


# -- faults are noticed --------------------------------------------------------------------------


def with_group() -> Player:
    """A round in which a stream `s` has eight entries, six of them pending in group `g`."""
    player = Player(Round())
    player.play([Drawing(1).stream(b"s")])
    return player


def stream_of(player: Player) -> Stream:
    value = player.server.instance.databases[0].values[b"s"]
    assert isinstance(value, Stream)
    return value


def lose_from_consumer(player: Player) -> object:
    consumer = stream_of(player).groups[b"g"].consumers[b"alice"]
    return consumer.pending_blocks.pop(0)


def forget_consumer(player: Player) -> object:
    return stream_of(player).groups[b"g"].consumers.pop(b"alice")


def miscount(player: Player) -> None:
    stream_of(player).length += 1


def step_back(player: Player) -> None:
    stream_of(player).last_id = make_id(1, 0)


def drop_from_scan(player: Player) -> None:
    db = player.server.instance.databases[0]
    db._order.remove(db.values[b"s"].serial)


def leave_ready_key(player: Player) -> None:
    player.server.instance.ready_keys.signalled[0, b"s"] = None


def leave_output(player: Player) -> None:
    player.peers[0].connection.state.output.append(b"+OK\r\n")


def answer_twice(player: Player) -> None:
    player.peers[0].connection.buffer += b"+OK\r\n"


@pytest.mark.parametrize(
    ("corrupt", "noticed"),
    [
        (lose_from_consumer, "counts 3, but holds 0"),
        (forget_consumer, "not the union"),
        (miscount, "length 9, but 8 IDs"),
        (step_back, "an ID above the last"),
        (drop_from_scan, "SCAN's order and the keys differ"),
        (leave_ready_key, "ready keys are left"),
        (leave_output, "output that did not leave"),
        (answer_twice, "got 1 replies"),
    ],
)
def test_corrupt_state_is_noticed(corrupt: Corrupt, noticed: str) -> None:
    player = with_group()
    player.check()
    corrupt(player)
    with pytest.raises(Broken, match=noticed):
        player.check()


@pytest.mark.parametrize(
    ("reply", "protocol"),
    [
        (b"_\r\n", 2),
        (b"%1\r\n+a\r\n:1\r\n", 2),
        (b"$-1\r\n", 3),
        (b"*1\r\n*-1\r\n", 3),
        (b"-lower case\r\n", 2),
        (b"-ERR one\n-ERR two\r\n", 2),
        (b"*2\r\n:1\r\n", 2),
        (b"-ERR internal error, see the server's log\r\n", 2),
    ],
)
def test_a_malformed_reply_is_noticed(reply: bytes, protocol: int) -> None:
    with pytest.raises(Broken):
        check_reply(reply, {protocol})


def test_a_change_that_is_not_propagated_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = COMMANDS[b"xdel"].handler
    assert original is not None

    def silent(client: Client, argv: Request, run: Handler = original) -> Reply:
        client.propagate_nothing()
        return run(client, argv)

    monkeypatch.setattr(COMMANDS[b"xdel"], "handler", silent)
    with pytest.raises(Broken, match="propagation: b's' "):
        with_group().play([Send(1, ((b"XDEL", b"s", b"1-0"),))])


def test_a_handler_that_fails_is_found_and_the_round_cut_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails_at_zero(client: Client, argv: Argv) -> bytes:
        return replies.integer(1 // client.db.index)

    monkeypatch.setattr(COMMANDS[b"dbsize"], "handler", fails_at_zero)
    _, _, problem = run(seed=2, seconds=SECONDS, rounds=ROUNDS)
    assert problem.startswith("--seed ")
    assert "internal error" in problem
    steps = [line for line in problem.split("\n") if line[1:3] == ": "]
    assert len(steps) < 15 and any("dbsize" in step.lower() for step in steps), problem


def test_a_round_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(client: Client, argv: Argv) -> bytes:
        while True:
            pass

    monkeypatch.setattr(COMMANDS[b"echo"], "handler", endless)
    monkeypatch.setattr("tests.fuzz.fuzz_commands.HANGS_AFTER_SECONDS", 0.05)
    assert "takes longer" in failure(Round(steps=[Send(0, ((b"ECHO", b"x"),))]))


def test_a_round_is_described_as_a_person_would_play_it() -> None:
    drawn = Round(directives={"hz": "10"})
    drawn.steps = [Send(1, ((b"SET", b"k", b"\x00"),)), Clock(-5), Leave(2, told=False)]
    assert described(drawn).split("\n") == [
        "clock 1700000000000",
        "hz '10'",
        '1: SET k "\\x00"',
        "(clock -5 ms)",
        "2: leaves unnoticed",
    ]
