"""The jobs of the demo."""

from __future__ import annotations

from itertools import islice
from random import Random

from rillway.demo.jobs.work import LONGEST_MS, SHORTEST_MS, jobs


def test_a_job_says_what_it_is_and_how_long_it_takes() -> None:
    found = list(islice(jobs(Random(1)), 2_000))
    assert {tuple(job) for job in found} == {("kind", "customer", "takes_ms", "is_broken")}
    assert all(SHORTEST_MS <= int(job["takes_ms"]) <= LONGEST_MS for job in found)
    assert 5 < sum(job["is_broken"] == "1" for job in found) < 50
