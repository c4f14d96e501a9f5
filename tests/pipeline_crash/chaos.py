"""Two archivers of many streams, while what they need is taken away again and again.

    python -m tests.pipeline_crash.chaos [--seconds 60] [--streams 500] [--engines spark local]
                                         [--server rillway|redis] [--seed N]

Both archive the same streams to the same table and compact it, one of them with Spark's tasks on
three workers. A producer goes on all the time, and so does one who deletes and trims what is
archived. Another program compacts the table, puts its rows in another order, and deletes some.
Meanwhile primaries are killed, cut off from their replicas and then killed, or replaced
without a cause; Sentinel promotes a replica each time. Executors and archivers are killed; an
archiver that has ended is started again, as a service manager does.

In the end every entry that all replicas had is there once and in order, those deleted from memory
included, and nothing else is lost than what was written while a primary died, or what the other
program deleted.

Exits with 0 if that held, else with 1; the folder is kept then.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from tests.failover.cluster import (
    NAME,
    Cluster,
    Failed,
    Node,
    cut_off,
    let_follow,
    url_of,
    wait_for,
)
from tests.pipeline_crash.executors import EXECUTOR_SETTINGS, MASTER, kill_executor
from tests.pipeline_crash.population import Gaps, Population, Verdict
from tests.support.programs.network import Network
from tests.support.programs.servers import ROOT

SERVERS = 3
# A loaded machine takes its time.
WAIT_SECONDS = 300.0
POLL_SECONDS = 0.1
COMMIT_SECONDS = 30.0
# Before a primary is seen to be replaced: what it may have taken that no other server has.
GAP_SECONDS = 30.0
DOWN_AFTER_MS = 3000
# How long replicas are cut off. After ten times the above Sentinel would take none of them.
CUT_SECONDS, MAX_CUT_SECONDS = 6.0, 15.0
LEASE = "3s"
EVERY = "1s"
KEEP = "5s"
MAX_ROUNDS = 100
COMMITS = re.compile(rb"archived in ([0-9,]+) commits")


class Address:
    """One address that leads to the primary which Sentinel names."""

    def __init__(self, cluster: Cluster, network: Network) -> None:
        self._cluster = cluster
        self._relay = network.relay("primary")
        self.gaps = Gaps()
        self.changes = 0
        self._ended = threading.Event()
        self._follow()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._relay.port}"

    def _go_on(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            self._follow()

    def _follow(self) -> None:
        node = self._cluster.primary()
        if node is not None and node.port != self._relay.target_port:
            now = time.monotonic()
            self.gaps.times.append((now - GAP_SECONDS, now + GAP_SECONDS))
            self._relay.target_port = node.port
            self.changes += 1

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()


class Archiving:
    """An archiver that is started again whenever it ends."""

    def __init__(self, engine: str, archive: str, url: str, folder: Path) -> None:
        self.engine = engine
        self.starts = self.commits = 0
        self._archive, self._url = archive, url
        self._log = folder / f"{engine}.log"
        self._environment = os.environ | {"PYTHONPATH": str(ROOT)}
        if engine == "spark":
            settings = folder / "spark-defaults.conf"
            lines = [f"{name} {value}" for name, value in EXECUTOR_SETTINGS.items()]
            settings.write_text("\n".join(lines))
            self._environment |= {"SPARK_MASTER": MASTER, "SPARK_CONF_DIR": str(folder)}
        self._ended = threading.Event()
        self._start()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    def _start(self) -> None:
        program = "import sys; from rillway.pipeline.archive.command import main"
        program += "; sys.exit(main(sys.argv[1:]))"
        words = ["--pattern", "s:*", "--to", self._archive, "--url", self._url, "--every", EVERY]
        words += ["--keep", KEEP, "--lease", LEASE, "--engine", self.engine]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, *words],
                cwd=ROOT,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.starts += 1
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Count commits: a line for each stream of a round is too much to keep."""
        assert process.stdout is not None
        for line in process.stdout:
            if found := COMMITS.search(line):
                self.commits += int(found[1].replace(b",", b""))

    def _go_on(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            if self.process.poll() is not None:
                self._end_session()
                self._start()

    def kill(self) -> None:
        """With the JVM that it may have. Returns when the next one has committed, or soon if it has
        nothing to commit.
        """
        before = self.commits
        self._end_session()
        with suppress(Failed):  # the other one has had all streams in each of its rounds
            wait_for(lambda: self.commits > before, "it does not commit", COMMIT_SECONDS)

    def kill_executor(self) -> bool:
        return kill_executor(self.process.pid)

    def _end_session(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """As a service manager does: it ends what it is at."""
        self._ended.set()
        self._thread.join()
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(WAIT_SECONDS)
        self._end_session()
        self.process.wait()


class Chaos:
    """All that runs, and what is done to it: each of `WOUNDS` is the name of a method."""

    WOUNDS = (
        *("lose_tail", "kill_archiver", "compact", "compact_elsewhere", "sort_elsewhere"),
        *("delete_elsewhere", "switch", "kill_executor", "kill_primary"),
    )

    def __init__(
        self, folder: Path, kind: str, streams: int, engines: Sequence[str], seed: int
    ) -> None:
        self._chance = random.Random(seed)
        self._stack = ExitStack()
        self.done: Counter[str] = Counter()
        with ExitStack() as stack:
            self.cluster = stack.enter_context(
                Cluster(folder / "set", (kind,) * SERVERS, DOWN_AFTER_MS)
            )
            network = Network()
            stack.callback(network.close)
            self.address = Address(self.cluster, network)
            stack.callback(self.address.stop)
            self.table = ArchiveTable.open_or_create(folder / "archive")
            self.archive = str(self.table.store)
            url = self.address.url
            self.population = Population(lambda: url, streams, seed, replicas=SERVERS - 1)
            self.population.fill(1)
            self.archivers = []
            for engine in engines:
                self.archivers.append(Archiving(engine, self.archive, url, folder))
                stack.callback(self.archivers[-1].stop)
            self._stack = stack.pop_all()

    def __enter__(self) -> Chaos:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def hurt(self, names: Iterable[str]) -> None:
        """Each wound in its turn, when the last one has healed."""
        self.population.begin(self.archive)
        try:
            for name in names:
                began = time.monotonic()
                getattr(self, name)()
                self.done[name] += 1
                self._heal()
                print(f"{name}: healed after {time.monotonic() - began:.1f} s", flush=True)
                time.sleep(self._chance.uniform(0.0, 2.0))
        finally:
            self.population.end()

    def _heal(self) -> None:
        wait_for(self.cluster.is_whole, "the set does not become whole", WAIT_SECONDS)

    # -- wounds -----------------------------------------------------------------------------------

    def kill_primary(self) -> None:
        old = self._primary()
        old.signal(signal.SIGKILL)
        self._replace(old)

    def lose_tail(self) -> None:
        """The primary takes for a while what no replica gets, and may be archived."""
        old = self._primary()
        replicas = [node for node in self.cluster.nodes if node is not old]
        began = time.monotonic()
        with Connection(url_of(old)) as connection:
            cut_off(connection, replicas)
            is_cut = time.monotonic()
            self._wait_for_commit(CUT_SECONDS)
            if time.monotonic() - began > MAX_CUT_SECONDS:
                let_follow(replicas)
                connection.call("CONFIG", "SET", "min-replicas-to-write", 1)
                return
        old.signal(signal.SIGKILL)
        self.address.gaps.cuts.append((is_cut, time.monotonic()))
        self._replace(old, replicas)

    def switch(self) -> None:
        """Sentinel has another primary, and nothing was wrong with this one."""
        old = self._primary()
        url = f"redis://127.0.0.1:{self.cluster.sentinel_ports[0]}"
        # An error: it may be at it already.
        with Connection(url) as sentinel, suppress(ServerError):
            sentinel.call("SENTINEL", "FAILOVER", NAME)
        wait_for(lambda: self._is_replaced(old), "the primary is not replaced", WAIT_SECONDS)

    def kill_executor(self) -> None:
        for archiver in self.archivers:
            if archiver.engine == "spark":
                wait_for(archiver.kill_executor, "there is no executor", WAIT_SECONDS)

    def kill_archiver(self) -> None:
        self._chance.choice(self.archivers).kill()

    def compact(self) -> None:
        with suppress(ArchiveError):  # an archiver compacts the same files
            compact(ArchiveTable.open(self.archive), vacuum_after_hours=24)

    def compact_elsewhere(self) -> None:
        """As another program does, which joins files in any order."""
        with suppress(DeltaError):  # an archiver compacts the same files
            DeltaTable(self.archive).optimize.compact()

    def sort_elsewhere(self) -> None:
        """As another program does, which puts rows in an order of its own."""
        with suppress(DeltaError):
            DeltaTable(self.archive).optimize.z_order(["fields"])

    def delete_elsewhere(self) -> None:
        """As another program does, which removes rows of some streams."""
        condition = self.population.choose_removed(self.archive)
        if condition is not None:
            with suppress(DeltaError):  # an archiver compacts the same files
                DeltaTable(self.archive).delete(condition)

    # -- how --------------------------------------------------------------------------------------

    def _primary(self) -> Node:
        self._heal()
        found = None
        while found is None:
            found = self.cluster.primary()
        return found

    def _replace(self, old: Node, cut: Sequence[Node] = ()) -> None:
        """Start a primary again that was killed, as a replica of the next one."""
        let_follow(list(cut))
        wait_for(lambda: self._is_replaced(old), "no replica takes over", WAIT_SECONDS)
        old.start()

    def _is_replaced(self, old: Node) -> bool:
        primary = self.cluster.primary()
        return primary is not None and primary is not old

    def _wait_for_commit(self, seconds: float) -> None:
        """One that was begun after this; for so long at most."""
        self.table.refresh()
        version = self.table.version
        deadline = time.monotonic() + seconds
        while self.table.version < version + 2 and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            self.table.refresh()

    # -- the end ----------------------------------------------------------------------------------

    def finish(self) -> Verdict:
        """Have all archived that is there, and compare."""
        self._heal()
        for archiver in self.archivers:
            archiver.stop()
        settings = ArchiverSettings(self.address.url, lease_ms=int(LEASE[:-1]) * 1000)
        failures: object = "none"
        for _ in range(MAX_ROUNDS):
            with suppress(ConnectionLost, ServerError):
                last = Archiver(self.table, LocalEngine(), settings)
                failures = last.round(self.population.names).failures
                if not failures:
                    break
            time.sleep(1.0)
        verdict = self.population.judge(self.archive, self.address.gaps)
        if failures:
            verdict.problems.append(f"the archiver leaves streams out: {failures}")
        return verdict

    def line(self) -> str:
        done = ", ".join(f"{count} {name}" for name, count in sorted(self.done.items()))
        archivers = ", ".join(
            f"{archiver.engine} {archiver.commits} commits in {archiver.starts} lives"
            for archiver in self.archivers
        )
        return f"{done}; {self.address.changes - 1} new primaries; archivers: {archivers}"


def for_seconds(seconds: float, names: Sequence[str], chance: random.Random) -> Iterator[str]:
    """All wounds in one order after the other, until the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        for name in chance.sample(names, len(names)):
            if time.monotonic() > deadline:
                return
            yield name


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument(
        "--engines", nargs=2, choices=("local", "spark"), default=["spark", "local"]
    )
    parser.add_argument("--server", choices=("redis", "rillway"), default="rillway")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="rillway-chaos-"))
    print(f"seed {options.seed}, in {folder}", flush=True)
    names = [name for name in Chaos.WOUNDS if "spark" in options.engines or name != "kill_executor"]
    with Chaos(folder, options.server, options.streams, options.engines, options.seed) as chaos:
        chaos.hurt(for_seconds(options.seconds, names, random.Random(options.seed)))
        verdict = chaos.finish()
        print(chaos.line())
    print("\n".join(verdict.lines()))
    if verdict.problems:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
