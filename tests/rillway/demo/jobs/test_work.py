"""The jobs of the demo."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

from rillway.demo.jobs.work import (
    LONGEST_WAIT_MS,
    PLAIN_SHARES,
    SHARES,
    WAITING_SHARE,
    WORKERS,
    Trouble,
    jobs,
)


def test_a_job_says_how_long_it_takes_and_waits() -> None:
    found = list(islice(jobs(Random(1), 40, SHARES, WAITING_SHARE), 2_000))
    names = ("job", "kind", "customer", "takes_ms", "waits_ms", "trouble")
    assert {tuple(job) for job in found} == {names}
    assert [int(job["job"]) for job in found] == list(range(1, 2_001))
    waits = [int(job["waits_ms"]) for job in found]
    assert max(waits) <= LONGEST_WAIT_MS
    assert 50 < sum(wait > 0 for wait in waits) < 150
    troubles = Counter(job["trouble"] for job in found)
    assert set(troubles) == {*SHARES, Trouble.NONE}
    assert all(0.2 * share < troubles[one] / 2_000 < 3 * share for one, share in SHARES.items())


def test_the_workers_can_do_the_jobs_at_each_rate() -> None:
    for rate in (1, 40, 1_000, 100_000):
        found = islice(jobs(Random(1), rate, PLAIN_SHARES, 0), 1_000)
        mean_ms = sum(float(job["takes_ms"]) for job in found) / 1_000
        assert 0 <= mean_ms < 1_000 * WORKERS / rate


def test_a_plain_server_gets_jobs_that_fail_and_none_that_wait() -> None:
    found = list(islice(jobs(Random(1), 40, PLAIN_SHARES, 0), 2_000))
    assert {job["trouble"] for job in found} == {Trouble.NONE, Trouble.BROKEN}
    assert {job["waits_ms"] for job in found} == {"0"}
