"""The machine that a benchmark runs on: cores, load, and the processor time of processes."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, percentiles_line

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CLOCK_OF_ALL_THREADS = 2
_SET_PARENT_DEATH_SIGNAL = 1
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Cores:
    """The cores of servers and of load; the same one if only one is allowed."""

    server: int
    load: int

    @property
    def are_apart(self) -> bool:
        return self.server != self.load


def choose_cores(allowed: Sequence[int]) -> Cores:
    """The first two of the cores that this process may use."""
    first, *others = sorted(allowed)
    return Cores(first, others[0] if others else first)


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    """Pin processes that are started in the block, their threads and children to these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def end_with_parent() -> None:
    """Called in a child: have Linux kill it when its parent ends, however that ends."""
    _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def description() -> dict[str, str]:
    """The properties of the machine that matter for the figures."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_bytes / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def load_average() -> str:
    """The load of the last 1, 5 and 15 minutes."""
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def _processor() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


# -- processor time and memory of a process --------------------------------------------------------


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used, with its threads. Raises OSError if it has ended.

    Linux has a clock for each process: the process ID is in the upper bits, the kind in the lower.
    /proc has the same value in steps of 10 ms, too coarse for measurements of half a second.
    """
    return time.clock_gettime(~pid << 3 | _CLOCK_OF_ALL_THREADS)


def busy_share(pid: int, seconds: float) -> float:
    """The share of a core that a process uses from now on, for so long."""
    before, started = cpu_seconds(pid), time.perf_counter()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.perf_counter() - started)


def own_cpu_seconds() -> float:
    """Processor time of this process and of the children for which it has waited."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def resident_bytes(pid: int) -> int:
    """The resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def busy_seconds(cores: set[int]) -> float:
    """Processor time that was used on these cores, or stolen by the hypervisor."""
    names = {f"cpu{core}" for core in cores}
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *counts = line.split()
        if name in names:
            user, nice, system, _idle, _waiting, irq, soft_irq, stolen = map(int, counts[:8])
            ticks += user + nice + system + irq + soft_irq + stolen
    return ticks / TICKS_A_SECOND


class Stopwatch:
    """A stopwatch, which also measures the processor use of servers, this process and others.

    A share of 1.0 is one core. This process includes the children for which it waited meanwhile;
    the others are all other processes on the cores of the two. load_seconds: the processor time of
    the load, if that is not this process.
    """

    def __init__(
        self, *server_pids: int, load_seconds: Callable[[], float] = own_cpu_seconds
    ) -> None:
        self._pids, self._load_seconds = server_pids, load_seconds
        self.seconds = 0.0
        self.shares = (0.0, 0.0, 0.0)  # of the servers, the load, and the others

    def _server_seconds(self) -> float:
        return sum(map(cpu_seconds, self._pids))

    def figure(self, count: float, delays_s: Sequence[float] = ()) -> Figure:
        """How much was done in a second, with the shares; percentiles of the delays, if any."""
        lines = (percentiles_line(delays_s),) if delays_s else ()
        return Figure(count / self.seconds, *self.shares, lines=lines)

    def __enter__(self) -> Stopwatch:
        self._server_before = self._server_seconds()
        self._load_before = self._load_seconds()
        self._cores = set().union(*map(os.sched_getaffinity, (*self._pids, 0)))
        self._all_before = busy_seconds(self._cores)
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._started
        load = (self._load_seconds() - self._load_before) / self.seconds
        server = (self._server_seconds() - self._server_before) / self.seconds
        both_cores = (busy_seconds(self._cores) - self._all_before) / self.seconds
        self.shares = server, load, max(0.0, both_cores - load - server)
