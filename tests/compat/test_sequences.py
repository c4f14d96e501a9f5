"""Random sequences of commands get the same replies from Rillway and from a real Redis.

Every sequence runs in RESP2 and in RESP3. How many there are follows from the profile; the nightly
run sets RILLWAY_COMPAT_EXAMPLES=10000, and RILLWAY_SEED for sequences that were never tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, seed, settings

from tests.compat import comparison, differences
from tests.compat.commands.sequences import CLOSING, Argv, Sequence, resolved, sequences
from tests.compat.commands.strategies import Draft
from tests.compat.edges.streams import EDGES, commands_of
from tests.support.examples import compared, compat_seed
from tests.support.programs.redis_cli import command_line, split_line
from tests.support.programs.servers import RunningServer
from tests.support.resp import Reply, RespClient, parse

pytestmark = pytest.mark.compat

PROTOCOLS = (2, 3)
RESET: list[Argv] = [[b"DISCARD"], [b"UNWATCH"]]


@dataclass
class Pair:
    """A connection to each server."""

    ours: RespClient
    theirs: RespClient


@pytest.fixture(scope="module")
def pair(rillway_server: RunningServer, redis_server: RunningServer) -> Iterator[Pair]:
    with rillway_server.connect() as ours, redis_server.connect() as theirs:
        yield Pair(ours, theirs)
        for client in (ours, theirs):
            client.send("CONFIG", "SET", "stream-node-max-entries", 100)
            client.send("FLUSHALL")


def opening(sequence: Sequence, protocol: int) -> list[Argv]:
    """Leads to an empty server; each of these must succeed."""
    return [
        [b"HELLO", b"%d" % protocol],
        [b"SELECT", b"0"],
        [b"FLUSHALL"],
        [b"CONFIG", b"SET", b"stream-node-max-entries", b"%d" % sequence.max_node_entries],
    ]


def write(client: RespClient, sequence: Sequence) -> None:
    """Sends the sequence in every protocol, in one write."""
    client.write_all(
        argv
        for protocol in PROTOCOLS
        for argv in (*RESET, *opening(sequence, protocol), *sequence.commands, *CLOSING)
    )


def read(client: RespClient, sequence: Sequence, protocol: int) -> list[Reply]:
    """The replies to the sequence in one protocol, and to the closing look at the state."""
    for _ in RESET:
        client.read_reply()
    for argv in opening(sequence, protocol):
        reply = client.read_reply()
        assert not reply.startswith(b"-"), f"{command_line(argv)}: {reply!r}"
    return [parse(client.read_reply()) for _ in (*sequence.commands, *CLOSING)]


def check(pair: Pair, sequence: Sequence) -> None:
    """Fails with a script that shows the first reply that differs, in the first protocol."""
    write(pair.theirs, sequence)
    write(pair.ours, sequence)
    replies = [
        (protocol, read(pair.ours, sequence, protocol), read(pair.theirs, sequence, protocol))
        for protocol in PROTOCOLS
    ]
    commands = [*sequence.commands, *CLOSING]
    for protocol, ours, theirs in replies:
        mismatch = comparison.first_mismatch(commands, ours, theirs, differences.adjust)
        assert mismatch is None, report(protocol, sequence, commands, mismatch)


@seed(compat_seed())
@settings(max_examples=compared(300))
@given(sequence=sequences())
def test_a_sequence_is_answered_as_redis_answers_it(pair: Pair, sequence: Sequence) -> None:
    check(pair, sequence)


@pytest.mark.parametrize("name", EDGES)
def test_an_edge_is_answered_as_redis_answers_it(pair: Pair, name: str) -> None:
    drafts: list[Draft] = [list(split_line(line)) for line in commands_of(EDGES[name])]
    check(pair, Sequence(100, resolved(drafts)))


def report(
    protocol: int, sequence: Sequence, commands: list[Argv], mismatch: comparison.Mismatch
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
