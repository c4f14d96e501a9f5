"""`rillway demo`: jobs fail, hang and end their workers, and every one is accounted for.

On a terminal `rillway top` shows it, until q is pressed. Then no more jobs are added, the remaining
ones are done, the dead letters go back once, as if their fault had been mended, and a table says
what became of each job.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import pi, sin
from random import Random

from rillway.demo.arguments import parse_options
from rillway.demo.jobs.audit import read_books, table
from rillway.demo.jobs.queue import ACK_WAIT_MS, Client, Queue
from rillway.demo.jobs.work import DEAD_LETTERS, JOBS, KEYS, WORKERS, Trouble
from rillway.demo.jobs.worker import Crew
from rillway.demo.service import (
    DemoFailed,
    Screen,
    clear_keys,
    open_server,
)
from rillway.pipeline.dead_letters.command import main as dead_letters
from rillway.plurals import count_of
from rillway.top.command import is_terminal

# The rate goes up and down by half of it, so that there is something to see.
WAVE_SECONDS = 20.0
CRASH_SECONDS, HANG_SECONDS = 8.0, 13.0
REPLACE_SECONDS = 2.0
STEP_SECONDS = 0.05
LINE_SECONDS = 2.0
WITHOUT_TERMINAL_SECONDS = 20.0
# A consumer with jobs in hand is shown as dead after that; others get them a second later.
DEAD_AFTER = "2s"
SHOWN = f"{JOBS}*"  # not the ledger, which gets more entries
# Much longer than from one delivery of a job to the next.
STUCK_SECONDS = 10 * ACK_WAIT_MS / 1000


class Works:
    """The queue with its workers, who are replaced when they crash."""

    def __init__(self, queue: Queue, crew: Crew, tell: Callable[[str], None]) -> None:
        self.queue = queue
        self.tell = tell
        self._crew = crew
        # When to hire the next ones.
        self._vacancies = [0.0] * WORKERS

    def tend(self) -> None:
        """Note which workers have crashed, and replace them after a time."""
        now = time.monotonic()
        crashed = self._crew.crashed()
        pending = self.queue.pending() if crashed else {}
        for name in crashed:
            self.queue.note_crash(name)
            self._vacancies.append(now + REPLACE_SECONDS)
            self.tell(f"{name} crashed, with {count_of(pending.get(name, 0), 'job')} in hand")
        while self._vacancies and self._vacancies[0] <= now:
            due = self._vacancies.pop(0)
            name = self._crew.hire()
            if due:
                self.tell(f"{name} takes its place")

    def forget_crashed(self) -> None:
        """Delete consumers whose process has ended, once others have all that they had."""
        for name, number in self.queue.pending().items():
            if name not in self._crew.running and not number:
                self.queue.forget(name)

    def left(self) -> int:
        """Look after the workers; return how many jobs are left."""
        self.tend()
        return sum(self.queue.left)


def main(arguments: list[str]) -> int:
    """Run the demo and return the exit status."""
    options = parse_options(arguments)
    with open_server(options) as url, Client.from_url(url) as client:
        clear_keys(client, KEYS, options.overwrite)
        queue, crew = Queue(client, Random(), options.rate), Crew(url)
        works = Works(queue, crew, say)
        try:
            run(works, url, options.seconds, options.rate)
            finish(works, url)
        finally:
            for name in crew.stop():
                queue.note_crash(name)
        books = read_books(client, in_order=queue.has_policy)
    say("\n".join(["", *table(books), ""]))
    say("Every job is accounted for." if books.are_right else "The account is WRONG.")
    return 0 if books.are_right else 1


def run(works: Works, url: str, seconds: float | None, rate: int) -> None:
    """Add jobs until the end of the demo."""
    say(f"{WORKERS} workers, {count_of(rate, 'job')} a second, at {url}")
    if not is_terminal():
        repeat(works, rate, seconds or WITHOUT_TERMINAL_SECONDS, lambda: True)
        return
    say("rillway top shows it; q ends it")
    screen = Screen(url, "--match", SHOWN, "--dead-after", DEAD_AFTER)
    notes = list[str]()
    works.tell = notes.append
    try:
        repeat(works, rate, seconds, lambda: screen.is_open)
    finally:
        screen.close()
        works.tell = say
        say("\n".join(notes))


def repeat(works: Works, rate: int, seconds: float | None, goes_on: Callable[[], bool]) -> None:
    """Add jobs, by the clock also those that make a worker crash or hang.

    `seconds`: None for as long as `goes_on` returns True.
    """
    queue = works.queue
    began = last = time.monotonic()
    owed, next_line = 0.0, began
    next_crash, next_hang = began + CRASH_SECONDS, began + HANG_SECONDS
    while goes_on() and (seconds is None or last - began < seconds):
        time.sleep(STEP_SECONDS)
        now = time.monotonic()
        works.tend()
        owed += (now - last) * rate * (1 + sin(2 * pi * (now - began) / WAVE_SECONDS) / 2)
        last = now
        queue.add(int(owed))
        owed -= int(owed)
        if now >= next_crash:
            queue.add(1, Trouble.CRASH)
            next_crash = now + CRASH_SECONDS
        if now >= next_hang:
            queue.add(1, Trouble.HANG)
            next_hang = now + HANG_SECONDS
        if now >= next_line:
            works.forget_crashed()
            later, new, pending = queue.left
            state = f"{queue.added:,} added; {later:,} are for later, {new:,} wait"
            dead = count_of(queue.dead_letters, "dead letter")
            works.tell(f"{state}, {pending:,} were delivered; {dead}")
            next_line = now + LINE_SECONDS


def finish(works: Works, url: str) -> None:
    """Let the workers do what is left, dead letters included. Raises DemoFailed."""
    say("No more jobs are added; the workers finish what is left ...")
    drain(works)
    if works.queue.dead_letters:
        say("What was broken is mended: the dead letters go back ...")
        dead_letters(["--url", url, "--stream", JOBS, "--to", DEAD_LETTERS, "--back"])
        drain(works)


def drain(works: Works) -> None:
    """Wait until nothing is left to do. Raises DemoFailed if there is no progress for too long."""
    least, since = works.left(), time.monotonic()
    while least:
        time.sleep(STEP_SECONDS)
        left, now = works.left(), time.monotonic()
        if left < least:
            least, since = left, now
        elif now - since > STUCK_SECONDS:
            text = f"{count_of(least, 'job')} were left after {STUCK_SECONDS:.0f} seconds"
            raise DemoFailed(text)


def say(text: str) -> None:
    print(text, flush=True)
