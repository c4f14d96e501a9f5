"""Random sequences of commands get the same replies from Rillway and from a real Redis.

Every sequence runs in RESP2 and in RESP3. The default number is for every test run; the nightly run
sets RILLWAY_COMPAT_EXAMPLES=10000, and RILLWAY_SEED for sequences that were never tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, seed, settings

from tests.compat import comparing, differences
from tests.compat.sequences import CLOSING, Argv, Sequence, sequences
from tests.support.redis_cli import command_line
from tests.support.resp import Reply, RespClient, parse
from tests.support.servers import RunningServer

pytestmark = pytest.mark.compat

EXAMPLES = int(os.environ.get("RILLWAY_COMPAT_EXAMPLES", "300"))
SEED = int(os.environ.get("RILLWAY_SEED", "0"))
PROTOCOLS = (2, 3)
OPENING: list[Argv] = [
    [b"DISCARD"],
    [b"UNWATCH"],
    [b"SELECT", b"0"],
    [b"FLUSHALL"],
]


@dataclass
class Pair:
    """A connection to each server, in each protocol."""

    ours: dict[int, RespClient]
    theirs: dict[int, RespClient]


@pytest.fixture(scope="module")
def pair(rillway_server: RunningServer, redis_server: RunningServer) -> Iterator[Pair]:
    connections = Pair(
        {protocol: rillway_server.connect(protocol=protocol) for protocol in PROTOCOLS},
        {protocol: redis_server.connect(protocol=protocol) for protocol in PROTOCOLS},
    )
    yield connections
    for client in (*connections.ours.values(), *connections.theirs.values()):
        client.close()


def answers(client: RespClient, sequence: Sequence) -> list[Reply]:
    """Runs the sequence from an empty server and reads the state back; sent in one write."""
    size = [b"CONFIG", b"SET", b"stream-node-max-entries", b"%d" % sequence.max_node_entries]
    opening = [*OPENING, size]
    replies = client.pipeline([*opening, *sequence.commands, *CLOSING])
    assert replies[len(OPENING) - 1 : len(opening)] == [b"+OK\r\n"] * 2, "FLUSHALL, CONFIG SET"
    return [parse(reply) for reply in replies[len(opening) :]]


@seed(SEED)
@settings(max_examples=EXAMPLES)
@given(sequence=sequences())
def test_a_sequence_is_answered_as_redis_answers_it(pair: Pair, sequence: Sequence) -> None:
    commands = [*sequence.commands, *CLOSING]
    for protocol in PROTOCOLS:
        ours = answers(pair.ours[protocol], sequence)
        theirs = answers(pair.theirs[protocol], sequence)
        mismatch = comparing.first_mismatch(commands, ours, theirs, differences.adjust)
        assert mismatch is None, report(protocol, sequence, commands, mismatch)


def report(
    protocol: int, sequence: Sequence, commands: list[Argv], mismatch: comparing.Mismatch
) -> str:
    """What differs, and the sequence up to there for pasting into `redis-cli` (`-3` for RESP3)."""
    exchange = mismatch.exchange
    script = [f"CONFIG SET stream-node-max-entries {sequence.max_node_entries}", "FLUSHALL"]
    script += [command_line(argv) for argv in commands[: exchange.position + 1]]
    return "\n".join(
        [
            f"RESP{protocol}: {command_line(exchange.argv)}",
            f"rillway: {exchange.ours.raw()!r}",
            f"redis:   {exchange.theirs.raw()!r}",
            f"differs: {mismatch.place()}",
            "",
            "as a script for redis-cli" + (" -3:" if protocol == 3 else ":"),
            *script,
        ]
    )
