"""What the storage of streams and groups costs, without a server around it.

    python benchmarks/storage_micro.py [--entries 1000000]

Prints a line for each figure; times are the best of five runs, the garbage collector on. Memory is
what the process gained (resident set size) for the entries, or the pending entries, it then held.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from storage.entry_id import MAX_ID, EntryID, make_id
from storage.group import Group
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
    """`count` field lists as a sensor might send them."""
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


def best_us(action: Callable[[], object], repeats: int = 1) -> float:
    """The shortest time of one call in microseconds."""
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter()
        for _ in range(repeats):
            action()
        best = min(best, time.perf_counter() - begin)
    return best / repeats * 1e6


def report(what: str, value: float, unit: str) -> None:
    print(f"{what:<58} {value:>10.2f} {unit}", flush=True)


def measure_appends(count: int) -> None:
    for name, entries in (("f <12 digits>", small_fields(count)), ("4 pairs", wide_fields(count))):
        ids = [make_id(START_MS + number // 8, number % 8) for number in range(count)]
        pairs = list(zip(ids, entries, strict=True))

        def append_all(pairs: list[tuple[EntryID, list[bytes]]] = pairs) -> Stream:
            stream = Stream()
            for entry_id, fields in pairs:
                stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)
            return stream

        report(f"append {name}", best_us(append_all) / count, "us")
        for approximate in (False, True):

            def append_and_trim(
                approximate: bool = approximate,
                pairs: list[tuple[EntryID, list[bytes]]] = pairs,
            ) -> None:
                stream = Stream()
                for entry_id, fields in pairs:
                    stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)
                    stream.trim_to_length(1000, approximate=approximate)

            mark = "~" if approximate else "="
            took = best_us(append_and_trim) / count
            report(f"append {name} and trim to {mark} 1000", took, "us")


def joined_range(stream: Stream, start: EntryID) -> bytes:
    return b"".join(stream.range(start, MAX_ID, 1000)[1])


def measure_ranges(count: int) -> None:
    stream = filled(small_fields(count))
    for name, offset in (("nodes cut at the ends", 37), ("whole nodes", 0)):
        start = make_id(START_MS + count // 2 + offset, 0)
        assert stream.range(start, MAX_ID, 1000)[0] == 1000
        joined = partial(joined_range, stream, start)
        report(f"range of 1000, joined, {name}", best_us(joined, 100), "us")
    took = best_us(lambda: b"".join(stream.reverse_range(start, 0, 1000)[1]), 100)
    report("reverse range of 1000, joined", took, "us")
    report(
        "range of 1000 with IDs", best_us(lambda: stream.range_with_ids(start, MAX_ID, 1000)), "us"
    )
    report(
        "range of 10 in the tail",
        best_us(lambda: stream.range(stream.last_id - (10 << 64), MAX_ID, 10), 1000),
        "us",
    )
    ids = stream.ids(0, MAX_ID)
    chance = random.Random(1)
    some = chance.sample(ids, 1000)
    report(
        "get, anywhere", best_us(lambda: [stream.get(entry_id) for entry_id in some]) / 1000, "us"
    )
    took = best_us(lambda: [stream.get(entry_id) for entry_id in ids[:1000]]) / 1000
    report("get, one after the other", took, "us")
    report("radix-tree-nodes of the whole", best_us(stream.radix_node_count), "us")


def measure_deletes(count: int) -> None:
    def delete_all(order: Callable[[list[EntryID]], object]) -> float:
        stream = filled(small_fields(count))
        ids = stream.ids(0, MAX_ID)
        order(ids)
        begin = time.perf_counter()
        for entry_id in ids:
            stream.delete(entry_id)
        return (time.perf_counter() - begin) * 1e6 / count

    report("delete, oldest first", delete_all(lambda ids: ids), "us")
    report("delete, anywhere", delete_all(random.Random(1).shuffle), "us")


def measure_groups(count: int) -> None:
    ids = [make_id(START_MS + number, 0) for number in range(count)]
    batches = [ids[start : start + 100] for start in range(0, count, 100)]
    shuffled = random.Random(1).sample(ids, count)

    def deliver() -> Group:
        group = Group(b"g", 0)
        consumer = group.create_consumer(b"c", START_MS)
        for batch in batches:
            group.deliver(consumer, batch, START_MS)
        return group

    def deliver_and_acknowledge(order: list[EntryID]) -> None:
        group = deliver()
        for entry_id in order:
            group.acknowledge(entry_id)

    report("deliver", best_us(deliver) / count, "us")
    took = best_us(lambda: deliver_and_acknowledge(ids)) / count
    report("deliver and acknowledge, in order", took, "us")
    took = best_us(lambda: deliver_and_acknowledge(shuffled)) / count
    report("deliver and acknowledge, anywhere", took, "us")
    group = deliver()
    worst = 0.0
    for entry_id in shuffled:
        begin = time.perf_counter()
        group.acknowledge(entry_id)
        worst = max(worst, time.perf_counter() - begin)
    report(f"slowest acknowledgement of {count}", worst * 1e6, "us")


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure_memory(count: int) -> None:
    for per_ms in (1, 16):
        gc.collect()
        before = resident_bytes()
        stream = Stream()
        chance = random.Random(1)
        for number in range(count):
            entry_id = make_id(START_MS + number // per_ms, number % per_ms)
            fields = [b"f", b"%012d" % chance.randrange(10**12)]
            stream.append(entry_id, fields, NODE_ENTRIES, NODE_BYTES)
        gc.collect()
        gained = (resident_bytes() - before) / count
        report(f"memory of an entry, {per_ms} in a millisecond", gained, "bytes")
        report("  as Stream.memory_bytes estimates it", stream.memory_bytes(0) / count, "bytes")
        del stream
    group = Group(b"g", 0)
    consumer = group.create_consumer(b"c", START_MS)
    gc.collect()
    before = resident_bytes()
    for start in range(0, count, 100):
        batch = [make_id(START_MS + number, 0) for number in range(start, start + 100)]
        group.deliver(consumer, batch, START_MS + start)
    gained = (resident_bytes() - before) / count
    report("memory of a pending entry", gained, "bytes")
    report("  as Group.memory_bytes estimates it", group.memory_bytes() / count, "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000, help="for the memory figures")
    count = parser.parse_args().entries
    measure_memory(count)  # first, while the heap has no gaps
    speed_count = min(count, 100_000)
    measure_appends(speed_count)
    measure_ranges(speed_count)
    measure_deletes(speed_count)
    measure_groups(speed_count)


if __name__ == "__main__":
    main()
