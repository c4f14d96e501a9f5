"""Measures one row of one server: what its other clients feel, and its memory."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.figures import percentile
from benchmarks.load.processes import OwnProcess
from benchmarks.machine import resident_bytes
from benchmarks.servers import Program, Server, free_port
from benchmarks.soak.abuses import Outcome, Target
from benchmarks.soak.others import Heard, Others
from tests.support.certificates import Authority

# How long the others talk before the abuse.
BEFORE_SECONDS = 1.0
# How long the memory may take to come back: redis-server's allocator keeps free pages for ten
# seconds. The others go on meanwhile.
AFTER_SECONDS = 15.0
STEP_SECONDS = 0.25
# At least this long is measured, so that work which is put off counts as well.
LEAST_SECONDS = 2.0
# The abusive clients get what processor time the server and the others leave.
NICENESS = 15
# So much above the memory before counts as back.
AFTER_BYTES = 20 << 20

Abuse = Callable[[Target], Outcome]


@dataclass(frozen=True)
class Memory:
    """A server's memory, in bytes: resident, and as it counts it itself (`used_memory`)."""

    resident: int
    used: int


@dataclass
class Measured:
    """The figures of one row of one server; times in ms."""

    title: str
    p50: float
    p99: float
    p999: float
    longest: float
    requests: int
    before: Memory
    peak: Memory
    after: Memory
    figures: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def measure(program: Program, abuse: Abuse, scale: float, folder: Path) -> Measured:
    """Start a server, let others talk to it, abuse it, and watch its memory come back."""
    authority = Authority(folder)
    issued = authority.issue("server")
    tls_port = free_port()
    directives = (
        *("--maxclients", "12000", "--tls-port", str(tls_port), "--tls-auth-clients", "no"),
        *("--tls-cert-file", issued.certificate, "--tls-key-file", issued.key),
        *("--tls-ca-cert-file", authority.path),
    )
    with Server(program, os.sched_getaffinity(0), directives) as server:
        target = Target(server.pid, server.port, tls_port, authority.path, scale)
        others = Others(server)
        time.sleep(BEFORE_SECONDS)
        before = _memory(server)
        _forget_peak(server.pid)
        started = time.monotonic()
        outcome = OwnProcess(lambda: _run(abuse, target)).result()
        time.sleep(max(0.0, started + LEAST_SECONDS - time.monotonic()))
        ended = time.monotonic()
        after = _memory_after(server, before)
        peak = Memory(_peak_bytes(server.pid), int(server.info("memory")["used_memory_peak"]))
        heard = others.heard()
    delays_ms = [delay.ms for delay in heard.delays if started <= delay.due <= ended]
    return Measured(
        program.title,
        percentile(delays_ms, 0.5),
        percentile(delays_ms, 0.99),
        percentile(delays_ms, 0.999),
        max(delays_ms),
        len(delays_ms),
        before,
        peak,
        after,
        outcome.figures,
        [*outcome.failures, *failures_of(heard)],
    )


def failures_of(heard: Heard) -> list[str]:
    """What was wrong for the others, apart from the time it took."""
    failures = []
    if heard.unanswered:
        failures.append(f"{heard.unanswered} requests of the others were not answered")
    if heard.errors:
        failures.append(f"{len(heard.errors)} requests of the others failed: {heard.errors[0]}")
    return failures


def _run(abuse: Abuse, target: Target) -> Outcome:
    os.nice(NICENESS)
    return abuse(target)


# -- memory ----------------------------------------------------------------------------------------


def _memory(server: Server) -> Memory:
    return Memory(resident_bytes(server.pid), int(server.info("memory")["used_memory"]))


def _memory_after(server: Server, before: Memory) -> Memory:
    """The memory once it has come back, or after some time."""
    deadline = time.monotonic() + AFTER_SECONDS
    while (memory := _memory(server)).resident > before.resident + AFTER_BYTES // 2:
        if time.monotonic() > deadline:
            break
        time.sleep(STEP_SECONDS)
    return memory


def _forget_peak(pid: int) -> None:
    """Let the largest resident size so far be that of now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _peak_bytes(pid: int) -> int:
    found = re.search(r"^VmHWM:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024
