"""Micro-benchmarks of the storage of streams and groups, without a server.

    python benchmarks/storage_micro.py [--entries 1000000]

Prints a line for each figure. Times are the best of five runs, with the garbage collector on and
at most 100,000 entries. Memory is the growth of the resident size.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from storage.entries.entry_id import MAX_ID, EntryID, make_id
from storage.groups.group import Group
from storage.stream import Stream

NODE_ENTRIES = 100
NODE_BYTES = 4096
START_MS = 1_700_000_000_000
RUNS = 5


def small_fields(count: int) -> list[list[bytes]]:
    """`count` field lists of one pair each, with 12 random digits."""
    chance = random.Random(1)
    return [[b"f", b"%012d" % chance.randrange(10**12)] for _ in range(count)]


def wide_fields(count: int) -> list[list[bytes]]:
    """`count` field lists like those of a sensor."""
    chance = random.Random(1)
    return [
        [
            *(b"sensor", b"%d" % chance.randrange(1000)),
            *(b"temperature", b"%.1f" % (chance.random() * 40)),
            *(b"humidity", b"%d" % chance.randrange(100)),
            *(b"state", chance.choice([b"ok", b"warming", b"failed"])),
        ]
        for _ in range(count)
    ]


def filled(entries: list[list[bytes]], per_ms: int = 1) -> Stream:
    """A stream of these entries, `per_ms` of them in each millisecond."""
    stream = Stream()
    for number, fields in enumerate(entries):
        entry_id = make_id(START_MS + number // per_ms, number % per_ms)
        stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)
    return stream


def report(what: str, value: float, unit: str) -> None:
    print(f"{what:<52} {value:>10.2f} {unit}", flush=True)


def measure(what: str, action: Callable[[], object], items: int = 1, repeats: int = 1) -> None:
    """Report the shortest time of one call in microseconds, shared among `items`."""
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter()
        for _ in range(repeats):
            action()
        best = min(best, time.perf_counter() - begin)
    report(what, best / repeats / items * 1e6, "us")


def append_all(pairs: list[tuple[EntryID, list[bytes]]]) -> None:
    stream = Stream()
    for entry_id, fields in pairs:
        stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)


def append_and_trim(pairs: list[tuple[EntryID, list[bytes]]], approximate: bool) -> None:
    stream = Stream()
    for entry_id, fields in pairs:
        stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)
        stream.trim_to_length(1000, approximate=approximate)


def measure_appends(count: int) -> None:
    for name, entries in (("f <12 digits>", small_fields(count)), ("4 pairs", wide_fields(count))):
        ids = [make_id(START_MS + number // 8, number % 8) for number in range(count)]
        pairs = list(zip(ids, entries, strict=True))
        measure(f"append {name}", partial(append_all, pairs), count)
        measure(f"append {name}, trim to = 1000", partial(append_and_trim, pairs, False), count)
        measure(f"append {name}, trim to ~ 1000", partial(append_and_trim, pairs, True), count)


def joined_range(stream: Stream, start: EntryID) -> bytes:
    return b"".join(stream.range(start, MAX_ID, 1000)[1])


def get_all(stream: Stream, ids: list[EntryID]) -> None:
    for entry_id in ids:
        stream.get(entry_id)


def measure_reads(count: int) -> None:
    stream = filled(small_fields(count))
    start = make_id(START_MS + count // 2, 0)
    cut = make_id(START_MS + count // 2 + 37, 0)
    near_end = make_id(START_MS + count - 10, 0)
    ids = stream.ids(0, MAX_ID)
    somewhere = random.Random(1).sample(ids, 1000)
    measure("range of 1000, joined, whole nodes", lambda: joined_range(stream, start), 1, 100)
    measure("range of 1000, joined, cut at its ends", lambda: joined_range(stream, cut), 1, 100)
    measure("range of 1000 with IDs", lambda: stream.range_with_ids(start, MAX_ID, 1000), 1, 100)
    measure("reverse range of 1000", lambda: stream.reverse_range(start, 0, 1000), 1, 100)
    measure("range of 10 in the tail", lambda: stream.range(near_end, MAX_ID, 10), 1, 1000)
    measure("get, one after the other", lambda: get_all(stream, ids[:1000]), 1000, 10)
    measure("get, anywhere", lambda: get_all(stream, somewhere), 1000, 10)
    measure("radix-tree-nodes of 1,000 nodes", stream.radix_node_count)


def measure_deletes(count: int) -> None:
    for order in ("oldest first", "anywhere"):
        stream = filled(small_fields(count))
        ids = stream.ids(0, MAX_ID)
        if order == "anywhere":
            random.Random(1).shuffle(ids)
        begin = time.perf_counter()
        for entry_id in ids:
            stream.delete(entry_id)
        report(f"delete, {order}", (time.perf_counter() - begin) * 1e6 / count, "us")


def delivered(ids: list[EntryID]) -> Group:
    """A group that gave `ids` to one consumer, a hundred at a time."""
    group = Group(b"g", 0)
    consumer = group.create_consumer(b"c", START_MS)
    for start in range(0, len(ids), 100):
        group.deliver(consumer, ids[start : start + 100], START_MS)
    return group


def deliver_and_acknowledge(ids: list[EntryID], order: list[EntryID]) -> None:
    group = delivered(ids)
    for entry_id in order:
        group.acknowledge(entry_id)


def measure_groups(count: int) -> None:
    ids = [make_id(START_MS + number, 0) for number in range(count)]
    shuffled = random.Random(1).sample(ids, count)
    measure("deliver", lambda: delivered(ids), count)
    measure("deliver, acknowledge in order", lambda: deliver_and_acknowledge(ids, ids), count)
    measure("deliver, acknowledge anywhere", lambda: deliver_and_acknowledge(ids, shuffled), count)
    group = delivered(ids)
    slowest = 0.0
    for entry_id in shuffled:
        begin = time.perf_counter()
        group.acknowledge(entry_id)
        slowest = max(slowest, time.perf_counter() - begin)
    report(f"slowest acknowledgement of {count:,}", slowest * 1e6, "us")


def measure_waiting_groups(count: int) -> None:
    """What it costs to ask ten groups, when one of them has `count` pending entries."""
    stream = Stream()
    group = stream.groups[b"g"] = Group(b"g", 0)
    consumer = group.create_consumer(b"c", START_MS)
    for first in range(0, count, 100):
        batch = [make_id(START_MS + number, 0) for number in range(first, first + 100)]
        group.deliver(consumer, batch, START_MS + first // 1000)
    last_id = group.last_delivered_id = make_id(START_MS + count, 0)
    for number in range(9):
        stream.groups[b"%d" % number] = Group(b"%d" % number, last_id)
    measure(
        f"claimable, none of {count:,}",
        lambda: next(group.claimable(START_MS, 5000), None),
        1,
        1000,
    )
    measure(f"oldest delivery of {count:,}", group.oldest_delivery_ms, 1, 1000)
    now_ms = START_MS + 10**9

    def claim_one_by_one() -> None:
        for _ in range(1000):
            row = next(group.claimable(now_ms, 5000))
            group.claim_all([row], consumer, now_ms, deliveries=1)

    measure(f"claim the oldest of {count:,}", claim_one_by_one, 1000)
    ids = [make_id(START_MS + number, 0) for number in range(0, count, count // 1000)]
    somewhere = random.Random(1).sample(ids, len(ids))
    measure(
        f"unreferenced, ten groups, {count:,} pending",
        lambda: [stream.unreferenced([entry_id]) for entry_id in somewhere],
        len(ids),
    )
    measure(
        f"unreferenced, ten groups, acknowledged, {count:,}",
        lambda: [stream.unreferenced([entry_id + 1]) for entry_id in somewhere],
        len(ids),
    )


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def memory_of_entries(count: int, per_ms: int) -> tuple[float, float]:
    """(measured, estimated) bytes of an entry."""
    before = resident_bytes()
    stream = Stream()
    chance = random.Random(1)
    for number in range(count):
        entry_id = make_id(START_MS + number // per_ms, number % per_ms)
        fields = [b"f", b"%012d" % chance.randrange(10**12)]
        stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)
    gc.collect()
    return (resident_bytes() - before) / count, stream.memory_bytes(0) / count


def memory_of_pending(count: int, per_ms: int) -> tuple[float, float]:
    """(measured, estimated) bytes of a pending entry, its ID included."""
    before = resident_bytes()
    group = Group(b"g", 0)
    consumer = group.create_consumer(b"c", START_MS)
    for start in range(0, count, per_ms):
        batch = [make_id(START_MS + number, 0) for number in range(start, start + per_ms)]
        group.deliver(consumer, batch, START_MS + start)
    gc.collect()
    return (resident_bytes() - before) / count, group.memory_bytes() / count


def measure_memory(count: int) -> None:
    figures = [
        ("an entry, one in a millisecond", partial(memory_of_entries, count, 1)),
        ("an entry, sixteen in a millisecond", partial(memory_of_entries, count, 16)),
        ("a pending entry, a hundred in a delivery", partial(memory_of_pending, count, 100)),
        ("a pending entry, each delivered by itself", partial(memory_of_pending, count, 1)),
    ]
    for what, figure in figures:
        # Each in a process of its own, whose heap has no gaps from what was there before.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            gained, estimated = pool.submit(figure).result()
        report(f"memory of {what}", gained, "bytes")
        report("  as memory_bytes estimates it", estimated, "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000, help="for the memory figures")
    count = parser.parse_args().entries
    measure_memory(count)
    speed_count = min(count, 100_000)
    measure_appends(speed_count)
    measure_reads(speed_count)
    measure_deletes(speed_count)
    measure_groups(speed_count)
    measure_waiting_groups(count)


if __name__ == "__main__":
    main()
