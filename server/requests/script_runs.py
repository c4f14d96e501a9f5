"""Runs scripts that may take long, and EXEC with scripts in it, as coroutines (greenlets).

Such a command runs on the stack of a greenlet. When its script has run for too long, the script
calls `pause` from inside of Lua, which switches back to the loop. The loop then answers other
clients with -BUSY (server/requests/admission.py), and runs the script for one time slice in each
cycle.

To the dispatcher, a paused command is one that blocks on no key. Its propagated changes stay
collected until it is done: other clients see none of them, because their requests are refused.
Expiry, ready keys, saving and all other work of a cycle or timer that touches data wait as well.

`end` ends the command for a shutdown, whatever its scripts have done. If one had written, the whole
command propagates nothing, and the data in memory are torn: they must not be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.gates import GATE_BUSY, GATE_PRIMARY
from commands.core.instance import Instance
from commands.core.long_reply import LongReply
from commands.core.registry import Command, CommandTable, Reply, Runner
from commands.scripting.evaluation import Scripting
from protocol.records import entity
from protocol.request import Request
from protocol.requests import Argv
from server.requests.command_clock import CommandClock
from server.requests.waiters import Waiters

# The time slice: how long a script runs before the loop polls again.
SLICE_NS = 1_000_000


@entity
class Paused:
    """A command that has paused."""

    client: Client
    command: Command
    argv: Argv
    started_ns: int
    now_ms: int  # time stands still for a script


@entity
class Outcome:
    """The outcome of a command that is not a plain reply; `error` is what it raised."""

    reply: Reply = None
    error: Exception | None = None


class ScriptRuns:
    """The long commands of one server."""

    def __init__(
        self, instance: Instance, runner: Runner, clock: CommandClock, waiters: Waiters
    ) -> None:
        self._instance = instance
        self._runner = runner
        self._clock = clock
        self._waiters = waiters
        self._worker: Any = None  # the greenlet of scripts
        self._to_worker: Any = None  # switches to it
        self._main: Any = None  # the greenlet of the loop
        self._is_inside = False  # whether the worker runs
        self._slice_end_ns = 0
        self.slice_ns = SLICE_NS
        self.paused: Paused | None = None
        # Schedules `go_on` after the next poll.
        self.schedule: Callable[[Callable[[], None]], object] = lambda go_on: None

    def run(self, client: Client, argv: Argv, work: Callable[[], Reply]) -> Reply:
        """Run `work`: its reply, or a Block if it has paused. Raises what `work` raises."""
        if self._is_inside:
            return work()  # called by EXEC, which is in the greenlet already
        if client.replays and not client.gates & GATE_PRIMARY:
            return work()  # a file is replayed: nothing else may run meanwhile
        if self._to_worker is None:
            self._new_worker()
        started_ns = self._clock.mark_ns
        self._is_inside, self._slice_end_ns = True, 0
        outcome = self._to_worker(work)
        self._is_inside = False
        if type(outcome) is bytes:
            return outcome
        if outcome is not None:
            return _concluded(outcome)
        command = self._instance.feature(CommandTable).find(argv)
        assert command is not None and self.paused is None
        self.paused = Paused(client, command, argv, started_ns, self._instance.now_ms)
        self._instance.set_gate(GATE_BUSY, is_shut=True)
        self._instance.propagation.depth += 1  # the unit of the command is not complete
        self.schedule(self.go_on)
        return Block([], 0, _never, None)

    def _new_worker(self) -> None:
        from greenlet import getcurrent, greenlet

        self._main = getcurrent()
        self._worker = greenlet(self._work)
        self._to_worker = self._worker.switch

    def _work(self, work: Callable[[], Reply]) -> None:
        to_main = self._main.switch
        while True:
            outcome: Reply | Outcome
            try:
                outcome = work()
                if type(outcome) is not bytes:
                    outcome = Outcome(outcome)
            except Exception as error:
                outcome = Outcome(error=error)
            work = to_main(outcome)

    def pause(self) -> bool:
        """Called from a script: return to the loop, if the time slice is over.

        False: that is impossible, because a file is replayed.
        """
        if not self._is_inside:
            return False
        if perf_counter_ns() >= self._slice_end_ns:
            self._main.switch(None)
        return True

    def end(self) -> bool:
        """End the paused command, if there is one. False: the data in memory are torn."""
        if self.paused is None:
            return True
        instance = self._instance
        instance.host.log("warning", "The script that runs is ended for the shutdown.")
        instance.feature(Scripting).is_ending = True
        while self.paused is not None:
            self.go_on()
        instance.feature(Scripting).is_ending = False
        return not instance.is_torn

    def go_on(self) -> None:
        """Run the paused command for its next time slice; finish it if it is done."""
        paused = self.paused
        if paused is None or self._worker is None:
            return
        self._instance.now_ms = paused.now_ms
        self._slice_end_ns = perf_counter_ns() + self.slice_ns
        self._is_inside = True
        outcome = self._worker.switch()
        self._is_inside = False
        if outcome is None:
            self.schedule(self.go_on)
        else:
            self._finish(paused, outcome)

    def _finish(self, paused: Paused, outcome: bytes | Outcome) -> None:
        self.paused = None
        clock, propagation, client = self._clock, self._instance.propagation, paused.client
        self._instance.set_gate(GATE_BUSY, is_shut=False)
        propagation.depth -= 1
        if self._instance.is_torn:
            propagation.drop()
        clock.count_quick()  # of the script's last calls, which did not take all of its time
        clock.mark_ns = paused.started_ns
        answer = self._runner.account(
            client, paused.command, Request(paused.argv), lambda client, _: _concluded(outcome)
        )
        if not client.closed:
            self._waiters.unblock(client, answer if isinstance(answer, bytes | LongReply) else b"")
        self._instance.host.resume()


def _concluded(outcome: bytes | Outcome) -> Reply:
    if type(outcome) is bytes:
        return outcome
    assert type(outcome) is Outcome
    if outcome.error is not None:
        raise outcome.error
    return outcome.reply


def _never(client: Client) -> Reply:
    raise AssertionError("a command that has paused is not run again")
