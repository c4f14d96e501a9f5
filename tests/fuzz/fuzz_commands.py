"""Random commands at a whole server: `python tests/fuzz/fuzz_commands.py --seconds 60`.

Each round is a server without sockets (server/inprocess/server.py) and several clients that send it
what command_drawing.py draws, while its clock jumps forth and back. After every step:

- each request was answered once, by well-formed RESP of the client's version, and by no internal
  error;
- data and tables agree with themselves (command_rules.py);
- a second server that ran what the first one propagated holds the same data;
- the round took no longer than HANGS_AFTER_SECONDS, the process grows by no more than MAX_BYTES.

The first round that breaks a rule is cut down to the steps that it takes, printed so that it can be
typed into redis-cli, and the program exits with status 1. `--seed` plays a round again.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from commands.transactions.transaction import Transaction
from protocol.request import Cutter
from protocol.requests import RequestReader
from server.inprocess.server import InProcessClient, InProcessServer
from tests.fuzz.command_rules import (
    Broken,
    check_copy,
    check_database,
    check_reply,
    check_tables,
    has_error,
    require,
)
from tests.fuzz.command_strategies import CLIENTS, Clock, Drawing, Leave, Round, Send, Step
from tests.support.programs.redis_cli import command_line
from tests.support.resp import BrokenReply, ReplyReader

ROUND_STEPS = 150
HANGS_AFTER_SECONDS = 20.0
MAX_BYTES = 1 << 30
MAX_SLEEP_SECONDS = 10.0
SHRINKING_SECONDS = 60.0

# After one of these a client may get more or fewer replies than it sent requests.
UNCOUNTED = frozenset(
    b"subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe monitor".split()
)


class FuzzedServer(InProcessServer):
    """DEBUG SLEEP is the one command that may stop a server for as long as it likes."""

    def pause(self, seconds: float) -> None:
        super().pause(min(seconds, MAX_SLEEP_SECONDS))


class Hangs(BaseException):
    """A round does not end; not for the server to catch."""


@dataclass
class Peer:
    """A client and what it is owed."""

    connection: InProcessClient
    reader: ReplyReader
    sent: int = 0
    answered: int = 0
    counted: bool = True
    protocols: set[int] = field(default_factory=lambda: {2})  # of the replies that are owed

    @property
    def owed(self) -> int:
        """How many requests wait, in the session or in a blocked command."""
        state, session = self.connection.state, self.connection.session
        held = state.is_blocked or state.postponed is not None
        reader = RequestReader(session.reader.limits, Cutter())
        reader.feed(session.reader.rest())
        return held + sum(1 for _ in iter(reader.next, None))


class Player:
    """Plays one round, step by step, and checks the rules after each."""

    def __init__(self, drawn: Round) -> None:
        self.server = FuzzedServer(drawn.now_ms, 0, **drawn.directives)
        self.copy = FuzzedServer(drawn.now_ms)
        self.copy.instance.active_expiry = False
        self.copier = self.copy.connect()
        self.copier.state.replays = True
        self.peers = [self.new_peer() for _ in range(CLIENTS)]
        self.history_read = False  # whether a consumer may have read its history

    def new_peer(self) -> Peer:
        return Peer(self.server.connect(), ReplyReader())

    def play(self, steps: Iterable[Step]) -> None:
        """Raises Broken, with the number of the step that broke a rule."""
        number = 0
        try:
            for step in steps:
                number += 1
                self.take(step)
                self.check()
            self.compare()  # at the latest now, what changed without a word is noticed
        except Broken as problem:
            raise Broken(f"step {number}: {problem}") from None

    def take(self, step: Step) -> None:
        server = self.server
        if isinstance(step, Clock):
            # A round that was cut down may have lost what moved the clock forth.
            server.advance(max(step.ms, 1 - server.now_ms))
        elif isinstance(step, Leave):
            self.leave(self.peers[step.client], step.told)
        else:
            self.send(step)

    def leave(self, peer: Peer, told: bool) -> None:
        if told and not peer.connection.closed:
            peer.connection.disconnect()
        else:
            peer.connection.is_gone = True

    def send(self, step: Send) -> None:
        peer = self.peers[step.client]
        if peer.connection.closed or peer.connection.is_gone:
            peer = self.peers[step.client] = self.new_peer()
        for argv in step.requests:
            peer.sent += 1
            name = argv[0].lower()
            if name in UNCOUNTED or (name == b"client" and b"reply" in map(bytes.lower, argv)):
                peer.counted = False
            self.history_read |= name == b"xreadgroup" and argv[-1] != b">"
            if name in (b"hello", b"reset"):
                peer.protocols = {2, 3}
        self.take_replies(peer, peer.connection.pipeline(*step.requests))

    def take_replies(self, peer: Peer, received: bytes) -> None:
        peer.reader.feed(received)
        try:
            while (raw := peer.reader.next_reply()) is not None:
                check_reply(raw, peer.protocols)
                peer.answered += raw[:1] != b">"
        except BrokenReply as problem:
            raise Broken(f"no RESP: {problem}") from None

    def check(self) -> None:
        server = self.server
        for peer in self.peers:
            state = peer.connection.state
            self.take_replies(peer, peer.connection.received())
            if not peer.owed and state.feature_if_used(Transaction) is None:
                peer.protocols = {state.resp}
            if not peer.connection.closed and peer.counted:
                require(
                    peer.sent - peer.answered == peer.owed,
                    f"client {state.id} sent {peer.sent} requests, {peer.owed} of which wait, "
                    f"and got {peer.answered} replies",
                )
        failures = [line for level, line in server.log_lines if "Traceback" in line]
        require(not failures, "\n".join(failures))
        check_tables(server.instance)
        for db in server.instance.databases:
            check_database(db)
        self.check_propagation()

    def check_propagation(self) -> None:
        propagated = self.server.propagated
        self.copy.now_ms = self.server.now_ms
        for db_index, unit in propagated:
            for argv in ([b"SELECT", b"%d" % db_index], *unit):
                reply = self.copier.execute(*argv)
                require(
                    not has_error(reply),
                    f"propagated {command_line(argv)[:1000]}: {reply[:200]!r}",
                )
        if propagated:
            propagated.clear()
            self.compare()

    def compare(self) -> None:
        check_copy(self.server.instance, self.copy.instance, history_read=self.history_read)


def failure(drawn: Round) -> str:
    """What breaks when the round is played; "" if nothing does."""
    try:
        with time_limit(HANGS_AFTER_SECONDS):
            Player(drawn).play(drawn.steps)
    except (Broken, Hangs) as problem:
        return str(problem)
    return ""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises Hangs inside of the block when it takes more processor time: others may be at work."""
    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def give_up(signal_number: int, frame: object) -> None:
    raise Hangs(f"takes longer than {HANGS_AFTER_SECONDS} s")


def shrunk(drawn: Round) -> Round:
    """The round with as few steps and requests as still break a rule."""
    end = time.monotonic() + SHRINKING_SECONDS
    size = len(drawn.steps)
    while size and time.monotonic() < end:
        size = max(1, size // 2)
        start, before = 0, len(drawn.steps)
        while start < len(drawn.steps) and time.monotonic() < end:
            fewer = replace(drawn, steps=drawn.steps[:start] + drawn.steps[start + size :])
            if failure(fewer):
                drawn = fewer
            else:
                start += size
        if size == 1 and len(drawn.steps) == before:
            break
    return drawn


def described(drawn: Round) -> str:
    """A round as a person would play it."""
    lines = [f"clock {drawn.now_ms}", *(f"{k} {v!r}" for k, v in drawn.directives.items())]
    for step in drawn.steps:
        if isinstance(step, Clock):
            lines.append(f"(clock {step.ms:+} ms)")
        elif isinstance(step, Leave):
            lines.append(f"{step.client}: leaves" + ("" if step.told else " unnoticed"))
        else:
            lines += [f"{step.client}: {command_line(argv)[:2000]}" for argv in step.requests]
    return "\n".join(lines)


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def run(seed: int, seconds: float, rounds: int = sys.maxsize) -> tuple[int, int, str]:
    """Play rounds from `seed` on; how many, with how many requests, and what broke."""
    end = time.monotonic() + seconds
    before_bytes = resident_bytes()
    played = requests = 0
    while played < rounds and time.monotonic() < end:
        drawn = Drawing(seed + played).round(ROUND_STEPS)
        problem = failure(drawn)
        if not problem and resident_bytes() - before_bytes > MAX_BYTES:
            problem = f"the process has grown by {resident_bytes() - before_bytes} bytes"
        if problem:
            small = shrunk(drawn)
            text = f"--seed {seed + played}: {failure(small) or problem}\n{described(small)}"
            return played, requests, text
        requests += sum(len(step.requests) for step in drawn.steps if isinstance(step, Send))
        played += 1
    return played, requests, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="of the first round; then seed + 1 and so on")
    parser.add_argument("--rounds", type=int, default=sys.maxsize)
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    if "ASAN_OPTIONS" not in os.environ:  # AddressSanitizer needs terabytes of addresses
        # An allocation beyond this is refused, becomes an internal error and so a find.
        resource.setrlimit(resource.RLIMIT_AS, (2 * MAX_BYTES, 2 * MAX_BYTES))
    rounds, requests, problem = run(seed, options.seconds, options.rounds)
    if problem:
        print(problem)
        return 1
    print(f"{rounds} rounds, {requests} requests: all rules kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
