"""Cases of replication: XADD with one and with three replicas, and a full synchronisation.

For the rates, replicas only read and keep nothing, so that the primary is measured. A
synchronisation is between two servers of one kind, from REPLICAOF until the link is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.cases import xadd
from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.rates import rate
from benchmarks.contenders import Contender, Scale, Setting
from benchmarks.figures import Figure, Row
from benchmarks.load.entries import fill
from benchmarks.load.null_replicas import attach
from benchmarks.servers import Server, ServerError

AT_ONCE = ("--repl-diskless-sync-delay", "0")
COUNTS = (1, 3)
ADDS = (("small", 1, 50), ("small", 64, 50), ("mixed", 64, 50))
QUICK = "xadd-small-p64-c50-of-1"
FULL_SYNC = "replicas/synchronisation-10M"
SYNC_SECONDS = 600.0


def _prepare(count: int, server: Server, _: Scale) -> None:
    attach(count, server)


def _adds() -> Iterator[Case]:
    for count in COUNTS:
        setting = Setting(f"fed to {count}", AT_ONCE, partial(_prepare, count))
        for variant, pipeline, clients in ADDS:
            name = f"xadd-{variant}-p{pipeline}-c{clients}-of-{count}"
            load = partial(xadd.load, variant, clients, pipeline)
            yield rate(
                f"replicas/{name}", load, setting=setting, flush=True, is_quick=name == QUICK
            )


@contextmanager
def _synchronisation(contender: Contender, scale: Scale) -> Iterator[Session]:
    """One primary, with a new replica for each measurement."""
    with contender.start(*AT_ONCE, alone=False) as primary:
        fill(primary, b"s", scale.large)

        def measure() -> Figures:
            primary.settle()
            with contender.start(alone=False) as replica:
                seconds = _seconds_to_follow(replica, primary)
                if replica.call("XLEN", "s") != scale.large:
                    raise ServerError("the replica has not got all entries")
            return {FULL_SYNC: Figure(scale.large / seconds)}

        yield Session(measure)


def _seconds_to_follow(replica: Server, primary: Server) -> float:
    started = time.perf_counter()
    replica.call("REPLICAOF", "127.0.0.1", primary.port)

    def is_up() -> bool:
        return replica.info("replication").get("master_link_status") == "up"

    replica.wait_until(is_up, SYNC_SECONDS)
    return time.perf_counter() - started


CASES: list[Case] = [
    *_adds(),
    Case(
        FULL_SYNC,
        (Row(FULL_SYNC, "entries/s"),),
        _synchronisation,
        is_quick=True,
        has_warm_up=False,
        most_pairs=2,
    ),
]
