"""Random scripts that do not want to end: `python tests/fuzz/fuzz_scripts.py --seconds 60`.

Each round is a server without sockets (server/inprocess/server.py) with the real clock, and one
script from script_drawing.py: loops in pcall, xpcall, coroutines, metamethods and callbacks, and
long calls on large values. It runs for some turns of the event loop; then SCRIPT KILL, FUNCTION
KILL, SHUTDOWN NOSAVE or a signal ends it. The rules:

- it is over at its next turn, or, in a transaction, at its last script's;
- no turn takes more than TURN_SECONDS of processor time: so long others may wait;
- SCRIPT KILL is refused after a write, and nothing of that is in the files afterwards;
- after a kill the server runs scripts as before; the log has no defect.

A script that breaks a rule is printed, and the program exits with status 1. `--seed` plays a round
again. If a turn never ends, the program ends itself with the traceback after HANGS_AFTER_SECONDS;
the line before it has the round's seed.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from commands.scripting.evaluation import Scripting
from server.inprocess.server import InProcessServer
from tests.fuzz.script_strategies import LIBRARY, ScriptDrawing

TURN_SECONDS = 1.0
HANGS_AFTER_SECONDS = 60.0
# The clock's threshold, in milliseconds, after which a script pauses.
THRESHOLD = "1"
KILLED = b"Script killed by user with SCRIPT KILL..."


class Broken(Exception):
    """A rule does not hold."""


class TimedServer(InProcessServer):
    """A server whose scripts see the time that passes."""

    def monotonic_us(self) -> int:
        return time.monotonic_ns() // 1000


@dataclass
class Round:
    """One script and how it is ended."""

    request: tuple[str, ...]
    turns: int  # that it gets before
    ending: str  # kill, shutdown or signal
    in_transaction: bool


def draw(seed: int) -> Round:
    """The round of a seed."""
    chance = random.Random(seed)
    drawing = ScriptDrawing(chance)
    kind = chance.choice(["EVAL", "EVAL", "EVAL", "FCALL", "LOAD"])
    if kind == "EVAL":
        request: tuple[str, ...] = ("EVAL", drawing.script(), "0")
    elif kind == "FCALL":
        request = ("FCALL", "run", "0", drawing.script())
    else:
        request = ("FUNCTION", "LOAD", "#!lua name=l\n" + drawing.library())
    return Round(
        request,
        turns=chance.choice([0, 0, 1, 5, 30]),
        ending=chance.choice(["kill", "kill", "shutdown", "signal"]),
        in_transaction=chance.random() < 0.2,
    )


class Player:
    """Plays one round."""

    def __init__(self, played: Round, turn_seconds: float) -> None:
        self.round = played
        self.turn_seconds = turn_seconds
        self.server = TimedServer(appendonly="yes", busy_reply_threshold=THRESHOLD)
        self.client, self.other = self.server.connect(), self.server.connect()
        self.other.execute("FUNCTION", "LOAD", LIBRARY)
        self.other.execute("SET", "before", "1")

    @property
    def is_over(self) -> bool:
        return self.server.dispatcher.script_runs.paused is None

    def play(self) -> bool:
        """Whether the script had to be ended. Raises Broken."""
        requests = [self.round.request]
        if self.round.in_transaction:
            requests = [("MULTI",), ("SET", "in", "1"), *requests, ("SET", "out", "1"), ("EXEC",)]
        self._take_turn(lambda: self.client.pipeline(*requests))
        for _ in range(self.round.turns):
            self._go_on()
        if self.is_over:
            self._check_health()
            return False
        if self.round.ending == "kill":
            self._kill()
        else:
            self._shut_down(self.round.ending)
        return True

    def _take_turn(self, turn: Callable[[], object]) -> None:
        start = time.process_time()
        turn()
        seconds = time.process_time() - start
        if seconds > self.turn_seconds:
            raise Broken(f"a turn took {seconds:.1f} seconds")

    def _go_on(self) -> None:
        if not self.is_over:
            self._take_turn(self.server.dispatcher.script_runs.go_on)

    def _kill(self) -> None:
        running = self.server.instance.feature(Scripting).running
        assert running is not None
        word = "FUNCTION" if running.is_function else "SCRIPT"
        has_written = running.has_written
        answer = self.other.execute(word, "KILL")
        if has_written:
            if not answer.startswith(b"-UNKILLABLE "):
                raise Broken(f"{word} KILL after a write: {answer!r}")
            self._shut_down("shutdown")
            return
        if answer != b"+OK\r\n":
            raise Broken(f"{word} KILL: {answer!r}")
        self._go_on()
        if not self.is_over:
            raise Broken("it goes on after its kill")
        self.server.finish_cycle()
        reply = self.client.received()
        if KILLED not in reply:
            raise Broken(f"the reply is {reply[:200]!r}")
        self._check_health()

    def _shut_down(self, ending: str) -> None:
        if ending == "signal":
            self.server.interrupt()
            self._go_on()  # the script sees the signal before the loop does
            self._take_turn(self.server.handle_signal)
        else:
            self._take_turn(lambda: self.other.execute("SHUTDOWN", "NOSAVE"))
        if not self.is_over or not self.server.shutdown_requested:
            raise Broken(f"the {ending} does not end it")
        self._check_log()
        self._check_files()

    def _check_files(self) -> None:
        """The whole transaction is in the file, or nothing of it."""
        client = self.server.restart().connect()
        keys = client.execute("KEYS", "*")
        found = {key for key in (b"before", b"in", b"out", b"part") if b"\r\n%b\r\n" % key in keys}
        is_torn = self.server.instance.is_torn
        wanted = {b"before"} if is_torn or not self.round.in_transaction else None
        if wanted is not None and found != wanted:
            raise Broken(f"the file holds {found}, torn: {is_torn}")
        if wanted is None and not {b"before", b"in", b"out"} <= found:
            raise Broken(f"the file lost a part of a transaction: {found}")

    def _check_health(self) -> None:
        self._check_log()
        if not self.is_over:
            return
        self.client.received()
        answer = self.other.execute("EVAL", "local n = 0 for i = 1, 9 do n = n + i end return n", 0)
        while not self.is_over:
            self.server.dispatcher.script_runs.go_on()
        self.server.finish_cycle()
        answer += self.other.received()
        if answer != b":45\r\n":
            raise Broken(f"a later script returns {answer[:200]!r}")

    def _check_log(self) -> None:
        for _, line in self.server.log_lines:
            if "Traceback" in line:
                raise Broken(f"the log has {line}")


def failure(seed: int, turn_seconds: float) -> str:
    """The problem of a seed's round, with its script; empty if there is none."""
    played = draw(seed)
    try:
        Player(played, turn_seconds).play()
    except Broken as broken:
        return f"seed {seed}: {broken}\n{played}\n{played.request[-1]}"
    return ""


def run(
    *, seed: int, seconds: float, rounds: int | None = None, turn_seconds: float = TURN_SECONDS
) -> tuple[int, str]:
    """The number of rounds that were played, and the first problem."""
    end = time.monotonic() + seconds
    played = 0
    while time.monotonic() < end and played != rounds:
        problem = failure(seed + played, turn_seconds)
        played += 1
        if problem:
            return played, problem
    return played, ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="play only this round")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    end = time.monotonic() + options.seconds
    played = 0
    while time.monotonic() < end and (options.seed is None or not played):
        faulthandler.dump_traceback_later(HANGS_AFTER_SECONDS, exit=True)
        problem = failure(seed + played, TURN_SECONDS)
        played += 1
        if problem:
            print(problem)
            return 1
    faulthandler.cancel_dump_traceback_later()
    print(f"{played} scripts, each ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
