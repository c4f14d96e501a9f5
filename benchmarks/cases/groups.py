"""Cases of consumer groups: reading and acknowledging, listing and claiming pending entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.contenders import Scale, Setting
from benchmarks.load.consumers import Consuming
from benchmarks.load.entries import deliver, fill
from benchmarks.load.load import Load
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

COUNTS = (1, 10, 100)
CONSUMERS = (1, 10, 100)
# By COUNT and consumers: the targets, as shares of Redis's rate.
TARGETS = {(1, 10): 0.9, (10, 10): 0.9, (100, 1): 1.0, (100, 10): 2.0, (100, 100): 1.0}
QUICK = (100, 10)
CLAIM_VERSION = (8, 4)

PENDING_COMMANDS: dict[str, tuple[str, ...]] = {
    "xpending": ("XPENDING", "s", "g"),
    "xpending-range": ("XPENDING", "s", "g", "1__rand_int__", "+", "100"),
    "xautoclaim": ("XAUTOCLAIM", "s", "g", "claimer", "0", "1__rand_int__", "COUNT", "100"),
    "xreadgroup-claim": (
        *("XREADGROUP", "GROUP", "g", "claimer", "COUNT", "100"),
        *("CLAIM", "0", "STREAMS", "s", ">"),
    ),
}
SIZES: dict[str, Callable[[Scale], int]] = {
    "10k": lambda scale: scale.small,
    "1M": lambda scale: scale.entries,
}


def consuming(count: int, consumers: int, scale: Scale) -> Load:
    """Read and acknowledge, over and over, the stream of the setting GROUP."""
    return Consuming(b"s", b"g", count, consumers, scale.entries)


def _fill_group(server: Server, scale: Scale) -> None:
    """Create a stream and a group that has read nothing yet."""
    fill(server, b"s", scale.entries)
    server.call("XGROUP", "CREATE", "s", "g", "0")


def on_pending(command: str, size: str, scale: Scale) -> Load:
    """A command on a group with a given number of pending entries."""
    return RedisBenchmark(PENDING_COMMANDS[command], 50, 1, SIZES[size](scale))


def since(command: str) -> tuple[int, ...]:
    """The first version of Redis with a command on pending entries."""
    return CLAIM_VERSION if command == "xreadgroup-claim" else ()


def _fill_pending(size: str, server: Server, scale: Scale) -> None:
    """Create a stream whose entries are all pending, for ten consumers."""
    count = SIZES[size](scale)
    fill(server, b"s", count)
    deliver(server, b"s", b"g", count)


GROUP = Setting("a group", prepare=_fill_group)
PENDING = {size: Setting(f"{size} pending", prepare=partial(_fill_pending, size)) for size in SIZES}


def _consuming_case(count: int, consumers: int) -> Case:
    return rate(
        f"group/count-{count}-consumers-{consumers}",
        partial(consuming, count, consumers),
        setting=GROUP,
        same_replies=True,
        unit="entries/s",
        at_least=TARGETS.get((count, consumers)),
        is_quick=(count, consumers) == QUICK,
    )


def _pending_case(command: str, size: str) -> Case:
    return rate(
        f"pending/{command}-{size}",
        partial(on_pending, command, size),
        setting=PENDING[size],
        same_replies=command in ("xpending", "xautoclaim"),
        is_quick=(command, size) == ("xautoclaim", "10k"),
        since=since(command),
    )


CASES: list[Case] = [
    *(_consuming_case(count, consumers) for count in COUNTS for consumers in CONSUMERS),
    *(_pending_case(command, size) for size in SIZES for command in PENDING_COMMANDS),
]
