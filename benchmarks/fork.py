"""The cost of a saving child: the fork itself, and copy on write while the child runs.

    PYTHONPATH=. python benchmarks/fork.py [--entries 1000000] [--groups 0] [--redis]

Fills one stream per million entries (fields `f` with 20 bytes), then measures how long one XADD
takes for a client that sends one after another: with nothing else going on, and during BGSAVE. The
two need a core each, or the second figure only shows that one is missing. With --groups,
every entry is pending in a group, so that there are many small objects.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.support.programs.servers import RunningServer, start_redis, start_rillway
from tests.support.resp import RespClient

BATCH = 10_000
QUIET_SECONDS = 3.0


def fill(client: RespClient, entries: int, groups: int) -> None:
    """Streams s0, s1, ... of a million entries each, all of them pending in each group."""
    value = "x" * 20
    for start in range(0, entries, BATCH):
        key = f"s{start // 1_000_000}"
        requests = [("XADD", key, f"{start + i + 1}-0", "f", value) for i in range(BATCH)]
        client.pipeline(requests)
    for number in range(groups):
        for key in (f"s{i}" for i in range((entries + 999_999) // 1_000_000)):
            client.send("XGROUP", "CREATE", key, f"g{number}", "0")
            while client.send(
                "XREADGROUP", "GROUP", f"g{number}", "c", "COUNT", str(BATCH), "STREAMS", key, ">"
            ) not in (b"*-1\r\n", b"$-1\r\n"):
                pass


def info(client: RespClient, section: str) -> dict[str, str]:
    """One section of INFO."""
    text = client.send("INFO", section).decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def is_saving(client: RespClient) -> bool:
    """Whether a child is saving."""
    return info(client, "persistence")["rdb_bgsave_in_progress"] == "1"


def latencies_us(client: RespClient, until: float | None) -> list[float]:
    """One XADD after another until a time, or until no child saves; each one's microseconds."""
    taken: list[float] = []
    while True:
        started = time.perf_counter()
        client.send("XADD", "other", "*", "f", "v")
        ended = time.perf_counter()
        taken.append((ended - started) * 1e6)
        if until is not None and ended > until:
            return taken
        if until is None and len(taken) % 1000 == 0 and not is_saving(client):
            return taken


def show(what: str, taken: list[float]) -> None:
    """Percentiles on a line."""
    ordered = sorted(taken)
    points = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    texts = [f"{name} {ordered[int(len(ordered) * p)]:.0f}" for name, p in points.items()]
    print(f"  XADD {what}: {', '.join(texts)}, max {ordered[-1]:.0f} us ({len(ordered)} calls)")


def measure(server: RunningServer, entries: int, groups: int) -> None:
    """Fill a server, and print what BGSAVE does to it."""
    with server.connect(timeout_seconds=600) as client:
        fill(client, entries, groups)
        print(f"{server.name}: {entries} entries, {groups} groups,", end=" ")
        print(f"{int(info(client, 'memory')['used_memory_rss']) / 1e6:.0f} MB resident")
        show("before", latencies_us(client, time.perf_counter() + QUIET_SECONDS))
        started = time.perf_counter()
        assert client.send("BGSAVE").startswith(b"+Background saving started")
        reply_ms = (time.perf_counter() - started) * 1000
        show("during BGSAVE", latencies_us(client, None))
        seconds = time.perf_counter() - started
        fork_us = int(info(client, "stats")["latest_fork_usec"])
        copied = int(info(client, "persistence")["rdb_last_cow_size"]) / 1e6
        print(f"  fork {fork_us / 1000:.1f} ms, reply to BGSAVE after {reply_ms:.1f} ms,", end=" ")
        print(f"child lived {seconds:.1f} s, {copied:.0f} MB copied")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--redis", action="store_true", help="a real redis-server as well")
    options = parser.parse_args()
    starts = [start_rillway, start_redis] if options.redis else [start_rillway]
    for start in starts:
        with tempfile.TemporaryDirectory() as folder:
            server = start(Path(folder))
            try:
                measure(server, options.entries, options.groups)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
