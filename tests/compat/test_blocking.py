"""Blocked clients are served on Rillway as on a real Redis: the same scripts, step by step.

One thing is not compared: several XADDs pipelined in one write may reach a Rillway waiter in one
reply, because its ready keys are served at the end of a cycle. Here commands go out one at a time.
"""

from __future__ import annotations

import time
from collections import defaultdict

import pytest

from tests.compat import comparison, differences
from tests.compat.comparison import Exchange, Expected
from tests.compat.scenarios.player import Sent, Stage, Step
from tests.compat.scenarios.streams import SCENARIOS
from tests.support.programs.servers import RunningServer
from tests.support.resp import parse

pytestmark = pytest.mark.compat


def by_client(step: Step) -> dict[str, list[Sent]]:
    sent: dict[str, list[Sent]] = defaultdict(list)
    for one in step.sent:
        sent[one.client].append(one)
    return sent


def wanted(theirs: Sent, ours: Sent) -> Expected:
    """What Rillway must send where Redis 8.2 sent this."""
    their_reply, our_reply = parse(theirs.reply), parse(ours.reply)
    exchange = Exchange(0, theirs.argv, our_reply, their_reply)
    return differences.adjust(exchange, comparison.expected(theirs.argv, their_reply))


def check(ours: Step, theirs: Step) -> None:
    """What Rillway sent because of one line, against what Redis sent."""
    our_sent, their_sent = by_client(ours), by_client(theirs)
    for client in sorted({*our_sent, *their_sent}):
        same = len(our_sent[client]) == len(their_sent[client]) and all(
            wanted(their_one, our_one).matches(parse(our_one.reply))
            for our_one, their_one in zip(our_sent[client], their_sent[client], strict=True)
        )
        assert same, "\n".join(
            [
                f"{ours.line}",
                f"rillway sent {client}: {[one.reply for one in our_sent[client]]}",
                f"redis sent {client}:   {[one.reply for one in their_sent[client]]}",
            ]
        )


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_ends_as_on_redis(
    scenario: str, protocol: int, rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    ours = Stage(rillway_server, protocol).play(SCENARIOS[scenario])
    theirs = Stage(redis_server, protocol).play(SCENARIOS[scenario])
    for our_step, their_step in zip(ours, theirs, strict=True):
        check(our_step, their_step)


@pytest.mark.parametrize("server_name", ["rillway_server", "redis_server"])
def test_a_wait_lasts_as_long_as_it_says(server_name: str, request: pytest.FixtureRequest) -> None:
    server: RunningServer = request.getfixturevalue(server_name)
    with server.connect() as client:
        client.send("FLUSHALL")
        started = time.monotonic()
        assert client.send("XREAD", "BLOCK", 150, "STREAMS", "s", "$") == b"*-1\r\n"
        assert time.monotonic() - started >= 0.150


@pytest.mark.parametrize("server_name", ["rillway_server", "redis_server"])
def test_a_wake_up_without_entries_does_not_prolong_a_wait(
    server_name: str, request: pytest.FixtureRequest
) -> None:
    server: RunningServer = request.getfixturevalue(server_name)
    with server.connect() as waiting, server.connect() as other:
        other.send("FLUSHALL")
        other.send("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
        started = time.monotonic()
        waiting.write("XREADGROUP", "GROUP", "g", "alice", "BLOCK", 2_000, "STREAMS", "s", ">")
        time.sleep(1.8)
        woken = time.monotonic()
        taking = ("XREADGROUP", "GROUP", "g", "bob", "STREAMS", "s", ">")
        other.pipeline([("MULTI",), ("XADD", "s", "1-1", "f", "1"), taking, ("EXEC",)])
        assert waiting.read_reply() == b"*-1\r\n"
        assert time.monotonic() - started >= 2.0
        assert time.monotonic() - woken < 2.0  # it would last as long again
