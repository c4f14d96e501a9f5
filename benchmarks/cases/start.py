"""Cases of a start: time to the first answer, and the rate of loading data from disk.

redis-server writes the files; each server loads copies of them. The time is what its log says, and
the amount of data is checked against that of the server that wrote them.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.cases.durability import APPEND_ONLY
from benchmarks.comparison import Case, Contender, Figures, Scale, Session
from benchmarks.figures import Figure, Row
from benchmarks.load.entries import acknowledge, deliver, fill
from benchmarks.servers import Server, ServerError, Word, best_redis, pack

LOADED = re.compile(r"DB loaded from (?:append only file|disk): ([0-9.]+) seconds")
READ_COUNT = 10
BATCH = 1_000
ONLY_REQUESTS = (*APPEND_ONLY, "--aof-use-rdb-preamble", "no")


@contextmanager
def _start(contender: Contender, _: Scale) -> Iterator[Session]:
    """From starting the process to its first PONG."""

    def measure() -> Figures:
        started = time.perf_counter()
        with contender.start():
            return {"start/first-pong": Figure((time.perf_counter() - started) * 1000)}

    yield Session(measure)


# -- the files -------------------------------------------------------------------------------------


def _add_and_save(server: Server, count: int) -> None:
    fill(server, count)
    server.call("SAVE")


def _each(server: Server, count: int, *, make: Callable[[int], tuple[Word, ...]]) -> None:
    """A request for each number, in an order like that of chance."""
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        server.pipeline([pack(*make(n * 7919 % count)) for n in numbers])


def _consume(server: Server, count: int) -> None:
    """Entries, each delivered to one of ten consumers, and acknowledged with those beside it."""
    fill(server, count)
    deliver(server, count, batch=READ_COUNT)
    acknowledge(server, count, batch=READ_COUNT)


# Writes of one small item each; ten of them make a hash, set, sorted set or list.
SMALL_WRITES: dict[str, Callable[[int], tuple[Word, ...]]] = {
    "strings": lambda n: ("SET", f"key:{n}", f"value:{n}"),
    "hashes": lambda n: ("HSET", f"key:{n // 10}", f"field:{n % 10}", f"value:{n}"),
    "sets": lambda n: ("SADD", f"key:{n // 10}", f"member:{n}"),
    "sorted-sets": lambda n: ("ZADD", f"key:{n // 10}", n, f"member:{n}"),
    "lists": lambda n: ("RPUSH", f"key:{n // 10}", f"item:{n}"),
}


@dataclass(frozen=True)
class Files:
    """Files that redis-server writes for some data, and the directives to write and load them."""

    name: str
    work: Callable[[Server, int], None]
    directives: tuple[str, ...]
    divisor: int = 1
    is_of_redis: bool = False  # Valkey 9 refuses snapshots of Redis 8


ALL_FILES = [
    Files("requests", fill, ONLY_REQUESTS),
    Files("snapshot", _add_and_save, (), is_of_redis=True),
    *(
        Files(name, partial(_each, make=make), ONLY_REQUESTS, divisor=5)
        for name, make in SMALL_WRITES.items()
    ),
    Files("group", _consume, ONLY_REQUESTS, divisor=5),
]


@contextmanager
def _load(files: Files, contender: Contender, scale: Scale) -> Iterator[Session]:
    count = scale.entries // files.divisor
    with tempfile.TemporaryDirectory(prefix="rillway-bench-") as name:
        folder = Path(name)
        redis = Contender(best_redis(), contender.cores, is_ours=False)
        with redis.start(*files.directives) as writer:
            files.work(writer, count)
            held = _held(writer)
            writer.save_files(folder)

        def measure() -> Figures:
            with contender.start(*files.directives, files=folder) as server:
                if _held(server) != held:
                    raise ServerError(f"not all of {files.name} is there")
                found = LOADED.search(server.printed())
                assert found is not None, server.printed()
                return {f"load/{files.name}": Figure(count / float(found[1]))}

        yield Session(measure)


def _held(server: Server) -> tuple[object, object]:
    return server.call("DBSIZE"), server.call("XLEN", "s")


def _loading_case(files: Files) -> Case:
    row = Row(f"load/{files.name}", "requests/s")
    return Case(
        row.name,
        (row,),
        partial(_load, files),
        has_warm_up=False,
        most_pairs=3,
        is_of_redis=files.is_of_redis,
    )


FIRST_PONG = Row("start/first-pong", "ms", lower_is_better=True)
CASES: list[Case] = [
    Case(FIRST_PONG.name, (FIRST_PONG,), _start),
    *map(_loading_case, ALL_FILES),
]
