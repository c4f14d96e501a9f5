"""Runs a program in a process of its own, and measures what a job of it takes of a server.

`job.py` and `node/jobs.mjs` are the other side: the program reports on its standard output that it
is ready, reads a line, does its jobs, and reports how many are done. Then it is killed.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from benchmarks.figures import Figure
from benchmarks.machine import Stopwatch, cpu_seconds, end_with_parent
from benchmarks.servers import ROOT, Server, ServerError

HERE = Path(__file__).parent
MODULES = f"{__package__}."
INSTALLED = ROOT / ".run"
# Errors that programs provoke on purpose: scripts that are not loaded yet, groups that exist, and
# subcommands of CLIENT that no such server has.
EXPECTED_ERRORS = {"errorstat_NOSCRIPT", "errorstat_BUSYGROUP", "errorstat_ERR"}
OWN_COMMANDS = {"config|resetstat", "info", "flushall"}
SHOWN_COMMANDS = 20
LEAST_OFTEN = 0.02
SHOWN_BYTES = 2_000


@dataclass(frozen=True)
class Measured:
    """A measurement: jobs a second, the 99th percentile, the server's time for a job."""

    rate: Figure
    p99_ms: Figure
    cpu_us: Figure


@functools.cache
def install() -> None:
    """Install the programs. Raises ServerError."""
    done = subprocess.run(["make", "bench-programs"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise ServerError(f"make bench-programs: {done.stderr[-1000:]}")


def command_of(script: str) -> list[str]:
    """The command line of a module of Python, or of a file in `node`."""
    if script.endswith(".mjs"):
        return ["node", str(HERE / "node" / script)]
    return [sys.executable, "-P", "-m", MODULES + script]


def environment(packages: str, port: int) -> dict[str, str]:
    """The environment of a program, with the folder in .run that its packages are in."""
    path = f"{INSTALLED / packages}:{ROOT}" if packages else str(ROOT)
    return os.environ | {
        "PYTHONPATH": path,
        "NODE_PATH": str(INSTALLED / "bench-node/node_modules"),
        "PROGRAMS_URL": f"redis://127.0.0.1:{port}/0",
    }


class Running:
    """A program that runs, with the processes that it starts."""

    def __init__(self, command: list[str], env: Mapping[str, str], errors: IO[str]) -> None:
        self._errors = errors
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def report(self) -> Mapping[str, Any]:
        """Wait for the next report. Raises ServerError if the program ends without it."""
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("{"):
                report: Mapping[str, Any] = json.loads(line)
                return report
        self._errors.seek(0)
        raise ServerError(f"the program ended: {self._errors.read()[-SHOWN_BYTES:]}")

    def go(self) -> None:
        """Have it do its jobs."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def cpu_seconds(self) -> float:
        """The processor time of its processes."""
        return sum(map(_cpu_seconds, _family(self._process.pid)))

    def kill(self) -> None:
        """End it with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


@contextmanager
def running(command: list[str], env: Mapping[str, str]) -> Iterator[Running]:
    with tempfile.TemporaryFile("w+") as errors:
        program = Running(command, env, errors)
        try:
            yield program
        finally:
            program.kill()


def measured(server: Server, script: str, case: str, jobs: int, packages: str = "") -> Measured:
    """Run a case of a program on an empty server. Raises ServerError if a job is not done."""
    server.flush()
    server.call("CONFIG", "RESETSTAT")
    words = ["--port", str(server.port), "--case", case, "--jobs", str(jobs)]
    with running([*command_of(script), *words], environment(packages, server.port)) as program:
        program.report()
        server.settle()
        server.call("CONFIG", "RESETSTAT")
        before = cpu_seconds(server.pid)
        with Stopwatch(server.pid, load_seconds=program.cpu_seconds) as watch:
            program.go()
            report = program.report()
        server.settle()
        used_us = (cpu_seconds(server.pid) - before) / jobs * 1e6
        commands = _commands(server, jobs)
    _check(server, report["done"], jobs)
    rate = replace(watch.figure(0), value=jobs / report["seconds"])
    shown = f"the server's core was busy to {watch.shares[0]:.2f}"
    return Measured(
        replace(rate, lines=(shown,)),
        Figure(report["p99_ms"]),
        Figure(used_us, lines=(f"a job: {commands}",)),
    )


def _check(server: Server, done: int, jobs: int) -> None:
    """Raise ServerError if jobs are left, or if the server refused a request."""
    if done != jobs:
        raise ServerError(f"{done} of {jobs} jobs are done")
    if refused := server.info("errorstats").keys() - EXPECTED_ERRORS:
        raise ServerError(f"requests were refused: {', '.join(refused)}")


def _commands(server: Server, jobs: int) -> str:
    """The commands that a job takes, those of scripts included, the most frequent first."""
    counts = {
        name.partition("_")[2]: int(values.split(",")[0].partition("=")[2]) / jobs
        for name, values in server.info("commandstats").items()
    }
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    shown = [
        f"{name} {count:.2f}"
        for name, count in ordered
        if count >= LEAST_OFTEN and name not in OWN_COMMANDS
    ]
    return ", ".join(shown[:SHOWN_COMMANDS])


def _family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    with suppress(OSError):
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        for child in listed.split():
            yield from _family(int(child))


def _cpu_seconds(pid: int) -> float:
    with suppress(OSError):
        return cpu_seconds(pid)
    return 0.0
