"""The jobs of the demo, and the keys that it uses.

A job says how long it takes. One in a hundred is broken: it fails each time, and ends in the dead
letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

JOBS = "jobs"
GROUP = "workers"
DONE = "jobs:done"
DEAD_LETTERS = "jobs:dead"
KEYS = (JOBS, DONE, DEAD_LETTERS)

KINDS = ("invoice", "email", "thumbnail", "report")
CUSTOMERS = ("ada", "grace", "edsger", "barbara", "donald", "radia")
BROKEN_SHARE = 0.01
SHORTEST_MS, LONGEST_MS = 20, 140


def jobs(random: Random) -> Iterator[dict[str, str]]:
    """Yield the fields of jobs, without end."""
    while True:
        yield {
            "kind": random.choice(KINDS),
            "customer": random.choice(CUSTOMERS),
            "takes_ms": str(random.randint(SHORTEST_MS, LONGEST_MS)),
            "is_broken": str(int(random.random() < BROKEN_SHARE)),
        }
