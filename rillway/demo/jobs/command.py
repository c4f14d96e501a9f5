"""`rillway demo`: workers are killed with jobs in hand, and others take these over.

On a terminal `rillway top` shows it, until q is pressed. Then no more jobs are added, the remaining
ones are done, and each job must be among the done ones or the dead letters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import pi, sin
from random import Random

import redis

from rillway.demo.arguments import parse_options
from rillway.demo.jobs.work import DEAD_LETTERS, DONE, GROUP, JOBS, KEYS, jobs
from rillway.demo.jobs.worker import CLAIM_IDLE_MS, MAX_DELIVERIES, Workers
from rillway.demo.service import (
    DemoFailed,
    Screen,
    clear_keys,
    open_server,
)
from rillway.net.polling import poll
from rillway.plurals import count_of
from rillway.top.command import is_terminal

WORKERS = 4
# The rate goes up and down by half of it, so that there is something to see.
WAVE_SECONDS = 20.0
KILL_SECONDS = 8.0
REPLACE_SECONDS = 2.0
STEP_SECONDS = 0.05
LINE_SECONDS = 2.0
WITHOUT_TERMINAL_SECONDS = 20.0
# A consumer with jobs in hand is shown as dead after that; others claim them a second later.
DEAD_AFTER = "2s"
# As long as a broken job takes to fail for the last time, and somewhat longer.
DRAIN_SECONDS = MAX_DELIVERIES * CLAIM_IDLE_MS / 1000 + 15


class Queue:
    """The demo's stream and group, and the fate of the jobs."""

    def __init__(self, client: redis.Redis, url: str, random: Random) -> None:
        self._client = client
        self._jobs = jobs(random)
        self._crew = Workers(url)
        self.added = self.killed = self.orphaned = 0
        client.xgroup_create(JOBS, GROUP, id="0", mkstream=True)

    def add(self, number: int) -> None:
        with self._client.pipeline(transaction=False) as pipeline:
            for _ in range(number):
                pipeline.xadd(JOBS, next(self._jobs))  # type: ignore[arg-type]
            self.added += len(pipeline.execute())

    def hire(self) -> str:
        return self._crew.hire()

    def kill(self) -> str:
        """Kill a worker with jobs in hand, if there is one. Returns a message."""
        pending = self.pending()
        name = self._crew.kill_busiest(pending)
        if name is None:
            return ""
        self.killed += 1
        self.orphaned += pending[name]
        return f"{name} was killed, with {count_of(pending[name], 'job')} in hand"

    def pending(self) -> dict[str, int]:
        """Jobs in hand, by consumer."""
        consumers = self._client.xinfo_consumers(JOBS, GROUP)
        return {consumer["name"].decode(): consumer["pending"] for consumer in consumers}

    def forget_dead(self) -> None:
        """Delete consumers whose process has ended, once others have all that they had."""
        for name, number in self.pending().items():
            if name not in self._crew.running and not number:
                self._client.xgroup_delconsumer(JOBS, GROUP, name)

    @property
    def done(self) -> int:
        return self._client.scard(DONE)

    @property
    def dead_letters(self) -> int:
        return self._client.xlen(DEAD_LETTERS)

    @property
    def is_empty(self) -> bool:
        (group,) = self._client.xinfo_groups(JOBS)
        return not group["pending"] and not group["lag"]

    def close(self) -> None:
        self._crew.stop()


def main(arguments: list[str]) -> int:
    """Run the demo and return the exit status."""
    options = parse_options(arguments)
    with open_server(options) as url, redis.Redis.from_url(url) as client:
        clear_keys(client, KEYS, options.overwrite)
        queue = Queue(client, url, Random())
        try:
            run(queue, url, options.seconds, options.rate)
            drain(queue)
        finally:
            queue.close()
        return 0 if report(queue) else 1


def run(queue: Queue, url: str, seconds: float | None, rate: int) -> None:
    """Add jobs and kill workers, until the end of the demo."""
    for _ in range(WORKERS):
        queue.hire()
    print(f"{WORKERS} workers, {count_of(rate, 'job')} a second, at {url}", flush=True)
    if not is_terminal():
        repeat(queue, rate, seconds or WITHOUT_TERMINAL_SECONDS, lambda: True, say)
        return
    print("rillway top shows it; q ends it", flush=True)
    screen, notes = Screen(url, "--dead-after", DEAD_AFTER), list[str]()
    try:
        repeat(queue, rate, seconds, lambda: screen.is_open, notes.append)
    finally:
        screen.close()
        say("\n".join(notes))


def repeat(
    queue: Queue,
    rate: int,
    seconds: float | None,
    goes_on: Callable[[], bool],
    tell: Callable[[str], None],
) -> None:
    """Add jobs and kill workers. `seconds`: None for as long as `goes_on` returns True."""
    began = last = time.monotonic()
    owed, next_kill, next_hire, next_line = 0.0, began + KILL_SECONDS, 0.0, began
    while goes_on() and (seconds is None or last - began < seconds):
        time.sleep(STEP_SECONDS)
        now = time.monotonic()
        owed += (now - last) * rate * (1 + sin(2 * pi * (now - began) / WAVE_SECONDS) / 2)
        last = now
        queue.add(int(owed))
        owed -= int(owed)
        if now >= next_line:
            queue.forget_dead()
            dead = count_of(queue.dead_letters, "dead letter")
            tell(f"{queue.added:,} added, {queue.done:,} done, {dead}")
            next_line = now + LINE_SECONDS
        if now >= next_kill and (text := queue.kill()):
            tell(text)
            next_kill, next_hire = now + KILL_SECONDS, now + REPLACE_SECONDS
        if next_hire and now >= next_hire:
            tell(f"{queue.hire()} takes its place")
            next_hire = 0.0


def drain(queue: Queue) -> None:
    """Wait until nothing is left to do. Raises DemoFailed if it takes too long."""
    say("No more jobs are added; the workers finish what is left ...")
    if not poll(lambda: queue.is_empty, DRAIN_SECONDS, pause_s=STEP_SECONDS):
        raise DemoFailed(f"jobs were left after {DRAIN_SECONDS:.0f} seconds: {queue.pending()}")


def report(queue: Queue) -> bool:
    """Print what became of the jobs. Returns whether none was lost."""
    lost = queue.added - queue.done - queue.dead_letters
    print(f"\n  added         {queue.added:>8,} jobs")
    print(f"  done          {queue.done:>8,}")
    print(f"  dead letters  {queue.dead_letters:>8,}  that failed {MAX_DELIVERIES} times")
    jobs = count_of(queue.orphaned, "job")
    print(f"  killed        {queue.killed:>8,} of the workers, {jobs} in hand")
    print(f"  lost          {lost:>8,}")
    if lost:
        print("\nJobs were LOST", flush=True)
    else:
        print("\nEvery job was done, or is among the dead letters.", flush=True)
    return not lost


def say(text: str) -> None:
    print(text, flush=True)
