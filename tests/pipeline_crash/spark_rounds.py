"""Archives many streams with Spark's tasks, whose executors are killed and server is replaced.

    python -m tests.pipeline_crash.spark_rounds [--streams 500] [--each 60] [--passes 2]
                                                [--server redis|rillway] [--seed N]

On a local cluster of three workers with an executor each. In each round one is killed: by a task
that has read, is writing, or has written its file, or just before or after the driver's commit.
In every second round the primary is killed at the same step, and its replica takes over at the same
address, while a producer goes on; the next pass has these two the other way round. In the end every
entry that a replica had must be there once and in order, and nothing else be lost than what the
dead primaries had alone.

Exits with 0 if that held.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.engine import EngineFailed, SparkEngine, try_task
from rillway.pipeline.archive.report.rounds import RoundOutcome
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.spark.spark_session import spark_session
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from tests.pipeline_crash.executors import (
    EXECUTOR_SETTINGS,
    MASTER,
    STEPS,
    DeadlyTask,
    kill_executor,
)
from tests.pipeline_crash.population import Gaps, Population, Verdict
from tests.support.programs.network import Network
from tests.support.programs.servers import RunningServer, start_redis, start_rillway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of the archiver, in its own process; the others are of its tasks.
BEFORE_COMMIT, AFTER_COMMIT = "stated", "committed"
ALL_STEPS = (*STEPS, BEFORE_COMMIT, AFTER_COMMIT)
LEASE_MS = 2_000
BATCH = 100_000
# The rounds that it may take until a task is through: the server comes back, executors as well.
MAX_ATTEMPTS = 50
WAIT_SECONDS = 300.0
# Around the death of a primary: what it alone has.
GAP_SECONDS = 5.0


class Pair:
    """A primary and its replica, at one address that leads to the primary."""

    def __init__(self, kind: str, folder: Path, network: Network) -> None:
        self._kind, self._folder = kind, folder
        self._relay = network.relay("primary")
        self._count = 0
        # A server ends with the thread that has started it.
        self._thread = ThreadPoolExecutor(1)
        self.gaps = Gaps()
        self._primary = self._start()
        self._relay.target_port = self._primary.port
        self._replica = self._follow()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._relay.port}"

    def _start(self) -> RunningServer:
        self._count += 1
        folder = self._folder / f"server-{self._count}"
        folder.mkdir(parents=True)
        start = start_redis if self._kind == "redis" else start_rillway
        return start(folder, "--repl-diskless-sync-delay", "0", ready_seconds=WAIT_SECONDS)

    def _follow(self) -> RunningServer:
        """A new replica, which has all that the primary has."""
        replica = self._start()
        with direct(replica) as connection:
            connection.call("REPLICAOF", "127.0.0.1", self._primary.port)
            wait_for(lambda: b"master_link_status:up" in connection.call("INFO", "replication"))
        return replica

    def fail_over_at(self, mark: Path) -> Future[None]:
        """As soon as a file is there."""

        def fail_over() -> None:
            wait_for(mark.exists)
            self.fail_over()

        return self._thread.submit(fail_over)

    def fail_over(self) -> None:
        """Kill the primary and have the replica in its place; it gets a replica of its own."""
        began = time.monotonic()
        self._primary.kill()
        with direct(self._replica) as connection:
            connection.call("REPLICAOF", "NO", "ONE")
        self._primary = self._replica
        self._relay.target_port = self._primary.port
        self.gaps.times.append((began - GAP_SECONDS, time.monotonic() + GAP_SECONDS))
        self._replica = self._follow()

    def stop(self) -> None:
        self._primary.stop()
        self._replica.stop()
        self._thread.shutdown()


def direct(server: RunningServer) -> Connection:
    return Connection(f"redis://127.0.0.1:{server.port}")


def wait_for(condition: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)


@dataclass(slots=True)
class Scene:
    """A cluster of Spark, servers, streams and their archive, in a folder."""

    spark: SparkSession
    pair: Pair
    population: Population
    table: ArchiveTable
    folder: Path
    rounds: int = 0

    def round(self, step: str, *, fails_over: bool) -> str:
        """Archive all that is there while an executor is killed at a step; what came of it."""
        self.rounds += 1
        mark = self.folder / f"mark-{self.rounds}"
        task = DeadlyTask(step, mark) if step in STEPS else try_task
        hooks = Hooks()
        if step not in STEPS:
            hooks = Hooks(reached=lambda reached: self._strike(reached == step, mark))
        failing_over = self.pair.fail_over_at(mark) if fails_over else None
        outcome, failures = self.archive(SparkEngine(self.spark, task), hooks)
        if failing_over is not None:
            failing_over.result()
        assert mark.exists(), f"no executor was killed while {step}"
        failed = f"; failed before: {', '.join(failures)}" if failures else ""
        return (
            f"{outcome.archived:,} entries of {len(self.population.names)} streams in "
            f"{outcome.commits} commits, {outcome.files} files{failed}"
        )

    def _strike(self, is_time: bool, mark: Path) -> None:
        if is_time and not mark.exists():
            wait_for(lambda: kill_executor(os.getpid()))
            mark.touch()

    def archive(self, engine: SparkEngine, hooks: Hooks) -> tuple[RoundOutcome, list[str]]:
        """Rounds until one is through; what they have done, and with what the others failed."""
        rules, url = TrimRules(keep_ms=0), self.pair.url
        settings = ArchiverSettings(url, batch_entries=BATCH, rules=rules, lease_ms=LEASE_MS)
        total, failed = RoundOutcome(), []
        for _ in range(MAX_ATTEMPTS):
            try:
                outcome = Archiver(self.table, engine, settings).round(self.population.names, hooks)
            except (EngineFailed, ConnectionLost, ServerError) as error:
                failed.append(str(error))
                time.sleep(LEASE_MS / 1000)
                continue
            total.reports |= outcome.reports
            total.commits += outcome.commits
            total.files += outcome.files
            if not outcome.failures:
                return total, failed
            failed.append(str(next(iter(outcome.failures.values()))))
            time.sleep(LEASE_MS / 1000)
        raise AssertionError(f"no round was through in {MAX_ATTEMPTS} attempts: {failed}")


@contextmanager
def scene(kind: str, folder: Path, streams: int, seed: int) -> Iterator[Scene]:
    with ExitStack() as stack:
        network = Network()
        stack.callback(network.close)
        pair = Pair(kind, folder, network)
        stack.callback(pair.stop)
        spark = spark_session("spark rounds", master=MASTER, conf=EXECUTOR_SETTINGS)
        stack.callback(spark.stop)
        population = Population(lambda: pair.url, streams, seed, replicas=1)
        table = ArchiveTable.open_or_create(folder / "archive")
        yield Scene(spark, pair, population, table, folder)


def play(kind: str, folder: Path, streams: int, each: int, passes: int, seed: int) -> Verdict:
    """All rounds, and what is there in the end."""
    with scene(kind, folder, streams, seed) as set_up:
        population = set_up.population
        for number in range(passes):
            for place, step in enumerate(ALL_STEPS):
                fails_over = (place + number) % 2 == 0
                population.fill(each)
                population.begin()
                try:
                    told = set_up.round(step, fails_over=fails_over)
                finally:
                    population.end()
                also = " and the primary" if fails_over else ""
                print(f"{step}: killed an executor{also}; {told}", flush=True)
        set_up.archive(SparkEngine(set_up.spark), Hooks())
        return population.judge(str(set_up.table.store), set_up.pair.gaps)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--server", choices=("redis", "rillway"), default="redis")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="rillway-spark-rounds-"))
    print(f"seed {options.seed}, in {folder}", flush=True)
    words = (options.streams, options.each, options.passes, options.seed)
    verdict = play(options.server, folder, *words)
    print("\n".join(verdict.lines()))
    if verdict.problems:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
