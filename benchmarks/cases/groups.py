"""Cases of consumer groups: reading and acknowledging, listing and claiming pending entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.comparison import Case, Scale, Setting
from benchmarks.load.consumers import Consuming
from benchmarks.load.entries import deliver, fill
from benchmarks.load.load import Load
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.rates import rate
from benchmarks.servers import Server

COUNTS = (1, 10, 100)
CONSUMERS = (1, 10, 100)
PENDING_COMMANDS: dict[str, tuple[str, ...]] = {
    "xpending": ("XPENDING", "s", "g"),
    "xpending-range": ("XPENDING", "s", "g", "1__rand_int__", "+", "100"),
    "xautoclaim": ("XAUTOCLAIM", "s", "g", "claimer", "0", "1__rand_int__", "COUNT", "100"),
}
SIZES: dict[str, Callable[[Scale], int]] = {
    "10k": lambda scale: scale.small,
    "1M": lambda scale: scale.entries,
}


def consuming(count: int, consumers: int, scale: Scale) -> Load:
    """Read and acknowledge, over and over, the stream of the setting GROUP."""
    return Consuming(count, consumers, scale.entries)


def fill_group(server: Server, scale: Scale) -> None:
    """Create a stream and a group that has read nothing yet."""
    fill(server, scale.entries)
    server.call("XGROUP", "CREATE", "s", "g", "0")


def on_pending(command: str, size: str, scale: Scale) -> Load:
    """A command on a group with a given number of pending entries."""
    return RedisBenchmark(PENDING_COMMANDS[command], 50, 1, SIZES[size](scale))


def _fill_pending(size: str, server: Server, scale: Scale) -> None:
    """Create a stream whose entries are all pending, for ten consumers."""
    count = SIZES[size](scale)
    fill(server, count)
    deliver(server, count)


GROUP = Setting("a group", prepare=fill_group)
PENDING = {size: Setting(f"{size} pending", prepare=partial(_fill_pending, size)) for size in SIZES}


CASES: list[Case] = [
    *(
        rate(
            f"group/count-{count}-consumers-{consumers}",
            partial(consuming, count, consumers),
            setting=GROUP,
            same_replies=True,
            unit="entries/s",
        )
        for count in COUNTS
        for consumers in CONSUMERS
    ),
    *(
        rate(
            f"pending/{command}-{size}",
            partial(on_pending, command, size),
            setting=PENDING[size],
            same_replies=command != "xpending-range",  # it has idle times
        )
        for size in SIZES
        for command in PENDING_COMMANDS
    ),
]
