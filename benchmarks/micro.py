"""Processor time of single requests in a compiled in-process server: no sockets, no other process.

    make micro                                  # what is compiled now
    make micro ARGS="--before DIR"              # beside an earlier build, in turn
    make micro ARGS="--only xadd"

A case sends the same bytes again and again to a server that is brought to the same state before
each time. Its figure is the least time of all repetitions, shared among its requests. A build is
measured in several processes, two builds in turn: figures repeat within about 3 %, where those of
benchmarks through sockets vary by 40 %. DIR is a folder that `make compiled` has filled: copy
`.run/compiled` before a change.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

REPETITIONS = 60
PROCESSES = 5
ROOT = Path(__file__).resolve().parent.parent


# Nothing of it falls due in a measurement.
POLICY = (
    *("ACK-WAIT", 30_000, "BACKOFF", 1_000, 10_000, "MAX-DELIVERIES", 5, "DEAD-LETTER", "dead"),
    *("MAX-PENDING", 100_000),
)


class Case(NamedTuple):
    """The bytes sent before each repetition, and those measured, a cycle each."""

    prepare: bytes
    cycles: list[bytes]
    requests: int
    has_file: bool = False  # an append-only file in memory


def request(*words: str | bytes | int) -> bytes:
    """The bytes of a request."""
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    parts = [b"*%d\r\n" % len(encoded)]
    parts += [b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded]
    return b"".join(parts)


def pipelined(requests: list[bytes], depth: int, prepare: bytes = b"") -> Case:
    """Requests in cycles of `depth`."""
    cycles = [b"".join(requests[i : i + depth]) for i in range(0, len(requests), depth)]
    return Case(prepare or request("PING"), cycles, len(requests))


def small_entry(number: int, *options: str | int) -> bytes:
    return request("XADD", "s", *options, "*", "f", f"{number * 7919 % 10**12:012d}")


def mixed_entry(number: int) -> bytes:
    fields: list[str | int] = ["user", number * 31 % 5000]
    fields += ["action", ("view", "buy", "leave")[number % 3]]
    if number % 2:
        fields += ["amount", f"{number * 37 % 10000 / 100:.2f}"]
    if number % 5 == 0:
        fields += ["note", "n" * (number % 40)]
    return request("XADD", "s", "*", *fields)


def filled_stream(entries: int) -> bytes:
    """A stream `s` of entries 1-1 to n-1, and its group `g`."""
    added = [request("XADD", "s", f"{i}-1", "f", f"{i:012d}") for i in range(1, entries + 1)]
    group = request("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    return request("DEL", "s") + group + b"".join(added)


def stream_cases() -> Iterator[tuple[str, Case]]:
    empty = request("DEL", "s") + small_entry(0)
    yield "xadd/small/p64", pipelined([small_entry(i) for i in range(1024)], 64, empty)
    yield "xadd/small/p1", pipelined([small_entry(i) for i in range(256)], 1, empty)
    yield "xadd/mixed/p16", pipelined([mixed_entry(i) for i in range(1024)], 16, empty)
    capped = [small_entry(i, "MAXLEN", "~", 200) for i in range(1024)]
    yield "xadd/maxlen/p64", pipelined(capped, 64, empty)
    filled = filled_stream(512)
    ids = range(1, 513)
    one = request("XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "STREAMS", "s", ">")
    yield "xreadgroup/count 1/p1", pipelined([one] * 512, 1, filled)
    turns = [one + request("XACK", "s", "g", f"{i}-1") for i in ids]
    yield "xreadgroup+xack/p1", Case(filled, turns, 1024)
    ten = request("XREADGROUP", "GROUP", "g", "c", "COUNT", 10, "STREAMS", "s", ">")
    acks = [request("XACK", "s", "g", *(f"{i + n}-1" for n in range(10))) for i in ids[:-10:10]]
    yield "xreadgroup+xack/count 10/p1", Case(filled, [ten + ack for ack in acks], 2 * len(acks))
    policy = filled + request("XGROUP", "CONFIG", "s", "g", *POLICY)
    yield "policy/xreadgroup+xack/p1", Case(policy, turns, 1024)
    yield "policy/xreadgroup+xack/count 10/p1", Case(policy, [ten + a for a in acks], 2 * len(acks))
    few = filled_stream(64)
    yield "xreadgroup/short stream/p1", pipelined([one] * 63, 1, few)
    hundred = request("XREADGROUP", "GROUP", "g", "c", "COUNT", 100, "STREAMS", "s", ">")
    yield "xreadgroup/count 100/p1", pipelined([hundred] * 5, 1, filled)
    claims = [request("XCLAIM", "s", "g", "d", 0, f"{i}-1") for i in ids]
    delivered = filled + request("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    yield "xclaim/p16", pipelined(claims, 16, delivered)
    tens = [request("XRANGE", "s", f"{i}-0", "+", "COUNT", 10) for i in ids]
    yield "xrange/count 10/p16", pipelined(tens, 16, filled)
    ones = [request("XREAD", "COUNT", 1, "STREAMS", "s", f"{i}-0") for i in ids]
    yield "xread/count 1/p16", pipelined(ones, 16, filled)
    yield (
        "xread/nothing/p16",
        pipelined([request("XREAD", "STREAMS", "s", "600-0")] * 512, 16, filled),
    )
    ends = [request("XRANGE", "s", f"{i}-0", "+", "COUNT", 1) for i in ids]
    yield "xrange/count 1/p16", pipelined(ends, 16, filled)
    yield "xpending/p16", pipelined([request("XPENDING", "s", "g")] * 512, 16, delivered)
    rows = [request("XPENDING", "s", "g", f"{i}-0", "+", 100) for i in range(1, 401)]
    yield "xpending/100 rows/p16", pipelined(rows, 16, delivered)
    multi = request("MULTI") + b"".join(small_entry(i) for i in range(100)) + request("EXEC")
    yield "multi/xadd/100", Case(empty, [multi] * 5, 510)


def file_cases() -> Iterator[tuple[str, Case]]:
    """Some of them, with an append-only file in memory."""
    for name, case in stream_cases():
        if name.startswith(("xadd/small", "xreadgroup", "xclaim", "multi")):
            yield f"file/{name}", case._replace(has_file=True)


def other_cases() -> Iterator[tuple[str, Case]]:
    numbers = range(512)

    def each(make: Callable[[int], bytes], prepare: bytes = b"", depth: int = 64) -> Case:
        return pipelined([make(i) for i in numbers], depth, prepare)

    yield "ping/p64", each(lambda _: request("PING"))
    yield "ping/p1", each(lambda _: request("PING"), depth=1)
    yield "set/p64", each(lambda i: request("SET", f"key:{i % 100}", f"value:{i}"))
    # A server that has a key with a time to live, as most have.
    kept = request("SET", "with time", "v", "PX", 10**9)
    kept += b"".join(request("SET", f"key:{i}", f"value:{i}") for i in range(100))
    yield "get/p64", each(lambda i: request("GET", f"key:{i % 100}"), kept)
    yield "incr/p64", each(lambda i: request("INCR", f"count:{i % 10}"))
    keys = b"".join(request("SET", f"key:{i}", f"value:{i}") for i in range(100))
    yield "exists/p64", each(lambda i: request("EXISTS", f"key:{i % 100}"), keys)
    yield "ttl/p64", each(lambda i: request("TTL", f"key:{i % 100}"), kept)
    yield "expire/p64", each(lambda i: request("EXPIRE", f"key:{i % 100}", 1000 + i), keys)
    pair = (lambda i: request("SET", "pair", i), lambda _: request("DEL", "pair"))
    yield "set+del/p64", each(lambda i: pair[i % 2](i))
    yield "hset/p64", each(lambda i: request("HSET", "h", f"field:{i % 100}", i))
    filled = b"".join(request("HSET", "h", f"field:{i}", i) for i in range(100))
    yield "hget/p64", each(lambda i: request("HGET", "h", f"field:{i % 100}"), filled)
    few = b"".join(request("HSET", "h", f"field:{i}", i) for i in range(20))
    yield "hgetall/p64", each(lambda _: request("HGETALL", "h"), request("DEL", "h") + few)
    yield "hincrby/p64", each(lambda i: request("HINCRBY", "h", f"field:{i % 100}", 1), filled)
    yield (
        "lpush+rpop/p64",
        each(lambda i: request("RPOP", "l") if i % 2 else request("LPUSH", "l", i)),
    )
    items = request("DEL", "l") + request("RPUSH", "l", *range(512))
    yield "lmove/p64", each(lambda _: request("LMOVE", "l", "l", "LEFT", "RIGHT"), items)
    yield "lindex/p64", each(lambda i: request("LINDEX", "l", i), items)
    yield "lrange/p64", each(lambda _: request("LRANGE", "l", 0, 99), items)
    yield "sadd/p64", each(lambda i: request("SADD", "m", f"member:{i}"), request("DEL", "m"))
    members = request("DEL", "m") + request("SADD", "m", *(f"member:{i}" for i in numbers))
    yield "spop/p64", each(lambda _: request("SPOP", "m"), members)
    yield (
        "zadd/p64",
        each(lambda i: request("ZADD", "z", i * 7 % 512, f"m:{i}"), request("DEL", "z")),
    )
    ranked = b"".join(request("ZADD", "z", i, f"m:{i}") for i in numbers)
    yield "zrange/p64", each(lambda i: request("ZRANGE", "z", i % 400, i % 400 + 9), ranked)
    yield (
        "zrangebyscore/p64",
        each(lambda i: request("ZRANGEBYSCORE", "z", i % 400, i % 400 + 9), ranked),
    )
    limited = request("ZRANGEBYSCORE", "z", 100, "+inf", "LIMIT", 0, 10)
    yield "zrangebyscore/limit/p64", each(lambda _: limited, ranked)
    yield "zpopmin/p64", each(lambda _: request("ZPOPMIN", "z"), ranked)
    limiter = (
        "local n = redis.call('INCR', KEYS[1]) "
        "if n == 1 then redis.call('EXPIRE', KEYS[1], 60) end return n"
    )
    yield (
        "eval/limiter/p16",
        each(lambda i: request("EVAL", limiter, 1, f"limit:{i % 10}"), depth=16),
    )


# One request each, of item `i` of 2000; ten items make a hash, set, sorted set or list.
LOADED_ITEMS: dict[str, Callable[[int], bytes]] = {
    "load/set": lambda i: request("SET", f"key:{i}", f"value:{i}"),
    "load/hset": lambda i: request("HSET", f"key:{i // 10}", f"field:{i % 10}", f"value:{i}"),
    "load/sadd": lambda i: request("SADD", f"key:{i // 10}", f"member:{i}"),
    "load/zadd": lambda i: request("ZADD", f"key:{i // 10}", i, f"member:{i}"),
    "load/one zset": lambda i: request("ZADD", "key", i, f"member:{i}"),
    "load/rpush": lambda i: request("RPUSH", f"key:{i // 10}", f"item:{i}"),
    "load/one list": lambda i: request("LPUSH", "key", f"item:{i}"),
}
LOADING = ("load/xadd", "load/groups", *LOADED_ITEMS)


def measure(only: str) -> dict[str, float]:
    """Microseconds a request of each case, in this process."""
    found = {
        name: measure_case(case)
        for name, case in (*stream_cases(), *file_cases(), *other_cases())
        if only in name
    }
    return found | {name: measure_loading(name) for name in LOADING if only in name}


def measure_case(case: Case) -> float:
    """Microseconds a request."""
    from server.inprocess.server import InProcessServer

    server = InProcessServer(appendonly="yes" if case.has_file else "no")
    server.instance.propagation.sinks.pop()  # its own record, which no other server keeps
    client = server.connect()

    def send() -> None:
        for cycle in case.cycles:
            client.feed(cycle)

    return least(lambda: client.feed(case.prepare), send) / case.requests


def measure_loading(name: str) -> float:
    """Microseconds a request of loading an append-only file."""
    from server.inprocess.server import InProcessServer

    server = InProcessServer(appendonly="yes", aof_use_rdb_preamble="no")
    client = server.connect()
    if name in LOADED_ITEMS:
        client.feed(b"".join([LOADED_ITEMS[name](i * 919 % 2000) for i in range(2000)]))
        requests = 2000
    else:
        client.feed(filled_stream(2000))
        requests = 2002
    if name == "load/groups":
        for number in range(1, 1001):
            client.execute("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">")
            client.execute("XACK", "s", "g", f"{number}-1")
        requests += 3000
    server.advance(1000)
    files = server.files.kill()
    return least(lambda: None, lambda: server.restart(files)) / requests


def least(prepare: Callable[[], object], action: Callable[[], object]) -> float:
    """The least time of an action in microseconds. Raises what it raises."""
    best = 2**62
    gc.collect()
    gc.disable()
    for _ in range(REPETITIONS):
        prepare()
        begin = time.perf_counter_ns()
        action()
        best = min(best, time.perf_counter_ns() - begin)
    gc.enable()
    return best / 1000


def run_build(folder: Path, only: str) -> dict[str, float]:
    """The figures of one process that runs what is compiled in a folder."""
    path = os.pathsep.join([str(folder), str(folder / "rillway/app")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    program = [sys.executable, "-P", __file__, "--child", "--only", only]
    run = subprocess.run(program, env=environment, stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(run.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--build", type=Path, default=ROOT / ".run/compiled", help="what is compiled"
    )
    parser.add_argument("--before", type=Path, help="an earlier build, to compare with")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="how many for each build")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.only)))
        return
    builds = [build for build in (options.before, options.build) if build]
    runs: dict[Path, list[dict[str, float]]] = {build: [] for build in builds}
    for _ in range(options.processes):
        for build in builds:
            runs[build].append(run_build(build, options.only))
    print(f"{'us a request':<28}" + ("before  after  ratio" if options.before else "   now"))
    for name in runs[builds[-1]][0]:
        figures = [min(run[name] for run in runs[build]) for build in builds]
        ratio = f" {figures[1] / figures[0]:6.2f}" if options.before else ""
        print(f"{name:<28}" + " ".join(f"{figure:6.2f}" for figure in figures) + ratio)


if __name__ == "__main__":
    main()
