"""Cases of programs that people run on Redis, as they are: their own producers and workers.

Each case has three rows: jobs a second, the 99th percentile of the time of a job, and the
processor time that the server uses for a job. docs/benchmarks.md says what a job is in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.cases.programs.running import install, measured
from benchmarks.comparison import EMPTY, Case, Contender, Figures, Scale, Session
from benchmarks.figures import COUNTED, Row, Target

JOBS_STEP = 100
RATE, P99, CPU = "", "-p99", "-cpu"
BOUNDS = {
    RATE: Target(0.95, least_busy=COUNTED),
    P99: Target(1.0),
    CPU: Target(1.3),
}


@dataclass(frozen=True)
class Program:
    """A program and its cases.

    script: a module of this folder, or a file of `node`.
    share: of the jobs of a run, for programs that take longer for one.
    packages: the folder in .run with packages that development does not need.
    """

    name: str
    script: str
    cases: tuple[str, ...]
    share: float = 1.0
    packages: str = ""

    def jobs(self, scale: Scale) -> int:
        """The number of jobs, a multiple of a hundred."""
        return max(1, round(scale.jobs * self.share / JOBS_STEP)) * JOBS_STEP


PROGRAMS = (
    Program("bullmq", "bullmq.mjs", ("add", "add-bulk", "delayed", "work-1", "work-50", "flows")),
    Program("rq", "rq_jobs", ("send", "work"), 0.2),
    Program("celery", "celery_tasks", ("prefetch-1", "prefetch-4", "chord-100"), 0.1),
    Program("dramatiq", "dramatiq_actors", ("tasks",), 0.2),
    Program("arq", "arq_jobs", ("send", "work"), 0.2, "bench-arq"),
    Program("taskiq", "taskiq_tasks", ("list", "stream"), 0.2),
    Program("huey", "huey_tasks", ("tasks",), 0.2, "bench-programs"),
    Program("faststream", "faststream_messages", ("list", "stream"), 0.2),
    Program("socketio", "socketio.mjs", ("emit",)),
    Program("django-redis", "caches", ("set", "get", "get-many"), 0.5, "bench-programs"),
    Program("redis-py", "locks_and_limits", ("lock",), 0.5, "bench-programs"),
    Program("redis-py", "asyncio_tasks", ("tasks-100",), 0.5),
    Program("limits", "locks_and_limits", ("fixed-window", "moving-window"), 0.5, "bench-programs"),
    Program("rate-limiter-flexible", "rate_limiter.mjs", ("consume",)),
)


@contextmanager
def opened(
    program: Program, case: str, name: str, contender: Contender, scale: Scale
) -> Iterator[Session]:
    """A server on which the program is ready to run."""
    install()
    jobs = program.jobs(scale)

    def measure() -> Figures:
        found = measured(contender.server, program.script, case, jobs, program.packages)
        # What it sends is the same for all.
        cpu_us = found.cpu_us if contender.is_ours else replace(found.cpu_us, lines=())
        return {name + RATE: found.rate, name + P99: found.p99_ms, name + CPU: cpu_us}

    yield Session(measure)


def rows(name: str) -> tuple[Row, ...]:
    """The rows of a case."""
    return (
        Row(name + RATE, "jobs/s", bounds=(BOUNDS[RATE],)),
        Row(name + P99, "ms", lower_is_better=True, bounds=(BOUNDS[P99],)),
        Row(name + CPU, "µs of the server", lower_is_better=True, bounds=(BOUNDS[CPU],)),
    )


def _cases(program: Program) -> Iterator[Case]:
    for case in program.cases:
        name = f"programs/{program.name}-{case}"
        session = partial(opened, program, case, name)
        yield Case(name, rows(name), session, EMPTY, has_warm_up=False, most_pairs=3)


CASES: list[Case] = [case for program in PROGRAMS for case in _cases(program)]
