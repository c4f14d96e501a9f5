"""The jobs of the demo, and the keys that it uses.

A job has a duration, a delay before it may begin, and a kind of trouble that it makes. So its end
is known in advance, and every run has each kind of trouble.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from random import Random

JOBS = "jobs"
GROUP = "workers"
LEDGER = "ledger:jobs"
DEAD_LETTERS = "jobs:dead"
KEYS = (JOBS, LEDGER, DEAD_LETTERS)

WORKERS = 4
KINDS = ("invoice", "email", "thumbnail", "report")
# Jobs of one customer are done one after the other. With this many customers, a job with trouble
# delays few others.
CUSTOMERS = 1_000
# How much of their time workers are busy, with jobs and with a job's requests: the rate has waves.
BUSY_SHARE = 0.6
REQUESTS_MS = 1.0
LONGEST_MS = 150.0
LONGEST_WAIT_MS = 3_000


class Trouble(StrEnum):
    NONE = ""
    FLAKY = "flaky"  # fails at its first delivery
    BUSY = "busy"  # asks to be delivered again a little later
    BROKEN = "broken"  # fails each time, until it has been a dead letter
    HOPELESS = "hopeless"  # is rejected each time
    CRASH = "crash"  # ends its worker after the work, before the XACK
    HANG = "hang"  # takes longer than its deadline, and its worker does nothing else meanwhile


# CRASH and HANG come by the clock; see command.py.
SHARES = {Trouble.FLAKY: 0.02, Trouble.BUSY: 0.01, Trouble.BROKEN: 0.008, Trouble.HOPELESS: 0.002}
WAITING_SHARE = 0.05
# On a server without policies nothing waits, and what is retried waits for an idle time.
PLAIN_SHARES = {Trouble.BROKEN: 0.01}


def jobs(
    random: Random, rate: int, shares: Mapping[Trouble, float], waiting_share: float
) -> Iterator[dict[str, str]]:
    """Yield the fields of jobs without end, sized for the workers and this rate."""
    mean_ms = max(0.0, 1000 * BUSY_SHARE * WORKERS / rate - REQUESTS_MS)
    longest_ms = min(2 * mean_ms, LONGEST_MS)
    troubles = [*shares, Trouble.NONE]
    weights = [*shares.values(), 1 - sum(shares.values())]
    number = 0
    while True:
        number += 1
        waits = random.random() < waiting_share
        yield {
            "job": str(number),
            "kind": random.choice(KINDS),
            "customer": f"customer-{random.randrange(CUSTOMERS)}",
            "takes_ms": f"{random.uniform(0, longest_ms):.1f}",
            "waits_ms": str(random.randint(1, LONGEST_WAIT_MS) if waits else 0),
            "trouble": random.choices(troubles, weights)[0].value,
        }
