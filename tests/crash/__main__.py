"""`make crash`: servers that are killed, and disks whose power fails; what survived is compared.

    python -m tests.crash --rounds 200 --seed 1
    python -m tests.crash --server redis-server     # the same for a real one

Ends with status 1 at the first round that lost what must not be lost, and leaves its files.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.crash import memory_rounds, process_rounds
from tests.crash.memory_rounds import MemoryRound, MemoryTally
from tests.crash.process_rounds import Rounds, Tally
from tests.crash.servers import begin_redis_with, begin_rillway

DISKS_PER_SEED = 1_000_000
MEMORY_ROUNDS_EACH = 5  # rounds in memory for each with a process: they are quick
PROGRESS_ROUNDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill servers and look at what survives.")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, help="for the same requests and delays again")
    parser.add_argument("--server", help="a redis-server to try instead of Rillway")
    parser.add_argument("--disk", type=int, help="play only this disk in memory again")
    options = parser.parse_args()
    if options.disk is not None:
        MemoryRound(options.disk, MemoryTally()).play()
        return 0
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="rillway-crash-"))
    begin = begin_redis_with(options.server) if options.server else begin_rillway
    rounds = Rounds(begin, folder, seed, modern=options.server is None)
    memory = MemoryTally()
    try:
        play_processes(rounds, options.rounds)
        if options.server is None:
            play_memory(memory, seed, options.rounds * MEMORY_ROUNDS_EACH)
    except (process_rounds.Failed, memory_rounds.Failed) as failure:
        print(f"\nFAILED, seed {seed}: {failure}\nThe files are in {folder}")
        return 1
    rounds.clean_up()
    print(table(rounds.tally, memory))
    print(f"{time.monotonic() - started:.0f} s: nothing was lost that must not be lost")
    return 0


def play_processes(rounds: Rounds, count: int) -> None:
    for number in range(1, count + 1):
        rounds.play()
        if number % PROGRESS_ROUNDS == 0:
            print(f"{number} of {count} kills", flush=True)


def play_memory(tally: MemoryTally, seed: int, count: int) -> None:
    for number in range(count):
        MemoryRound(seed * DISKS_PER_SEED + number, tally).play()
        if (number + 1) % (PROGRESS_ROUNDS * 20) == 0:
            print(f"{number + 1} of {count} disks", flush=True)


def table(tally: Tally, memory: MemoryTally) -> str:
    """What happened, to be read."""
    kills = sum(tally.rounds.values())
    lines = [
        "",
        f"{'kill -9 of a process':<34}{'rounds':>8}{'acknowledged':>14}{'lost, as allowed':>18}",
        *(
            f"  {policy:<32}{count:>8}{tally.acknowledged[policy]:>14}{tally.lost[policy]:>18}"
            for policy, count in sorted(tally.rounds.items())
        ),
        *(
            f"  while {what} was running: {count} of {kills}"
            for what, count in sorted(tally.kills.items())
        ),
        f"  not acknowledged, but there: {tally.in_flight_kept}; torn tails that were cut: "
        f"{tally.torn}; streams compared: {tally.streams}; kills while starting: "
        f"{tally.kills_at_start}; acknowledged in pipelines: {tally.pipelined}",
    ]
    if memory.rounds:
        lines += [
            f"{'power failure, files in memory':<34}{'disks':>8}{'acknowledged':>14}"
            f"{'lost, as allowed':>18}",
            *(
                f"  {policy:<32}{count:>8}{memory.acknowledged[policy]:>14}"
                f"{memory.lost[policy]:>18}"
                for policy, count in sorted(memory.rounds.items())
            ),
            *(
                f"  at {where}: {count} of {sum(memory.failures.values())}"
                for where, count in sorted(memory.failures.items())
            ),
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
