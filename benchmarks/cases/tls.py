"""Cases of clients that connect over TLS, beside the Redis of the distribution."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.groups import fill_group
from benchmarks.cases.xadd import load
from benchmarks.comparison import Case, Scale, Setting
from benchmarks.figures import Figure
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.rates import rate
from benchmarks.servers import Server

PIPELINES = (1, 16)
CLIENTS = 50
READ = ("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">")
EMPTY = Setting("empty, TLS", is_encrypted=True)
GROUP = Setting("a group, TLS", prepare=fill_group, is_encrypted=True)


class _Reads(RedisBenchmark):
    """One new entry in each request; each run begins with a group that has read nothing."""

    def run(self, server: Server, seconds: float) -> Figure:
        server.call("XGROUP", "DESTROY", "s", "g")
        server.call("XGROUP", "CREATE", "s", "g", "0")
        server.settle()
        return super().run(server, seconds)


def _reads(pipeline: int, _: Scale) -> RedisBenchmark:
    return _Reads(READ, CLIENTS, pipeline)


CASES: list[Case] = [
    *(
        rate(
            f"tls/xadd-small-p{pipeline}-c{CLIENTS}",
            partial(load, "small", CLIENTS, pipeline),
            setting=EMPTY,
            flush=True,
        )
        for pipeline in PIPELINES
    ),
    *(
        rate(
            f"tls/xreadgroup-count-1-p{pipeline}-c{CLIENTS}",
            partial(_reads, pipeline),
            setting=GROUP,
            unit="entries/s",
        )
        for pipeline in PIPELINES
    ),
]
