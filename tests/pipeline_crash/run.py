"""Kills the archiver, a Spark worker or the server, again and again, and counts what is left.

    PYTHONPATH=. python tests/pipeline_crash/run.py [--rounds 25] [--queries 50]
                                                    [--server redis|rillway] [--seed N]
                                                    [--store folder|s3|gs|abfss]

While a producer, a consumer and somebody who deletes at random never stop, `rillway archive` is
started and one of the three named above is ended by SIGKILL at a random moment; then it is run once
more, to its end. What must hold after each round: archive and stream together have every entry
whose XADD was answered, once and in order, but for some of those that were deleted; and all that
the group was not given or has not acknowledged is in the stream; and the mirror in an Iceberg
catalogue, brought up to date, has what the archive has. With another `--store` the
archive is in an object store on this machine; see tests/support/stores/object_store.py.

Then `--queries` queries, while an archiver that trims everything never stops: each has to be
complete.

Exits with 0 if all of it held, else with 1 after the first round that failed; its folder is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.arguments import DEFAULT_ICEBERG_TABLE
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.iceberg.catalogue import open_catalogue
from rillway.pipeline.archive.iceberg.mirror import Mirror
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MIN_ID, format_id, parse_id
from tests.pipeline_crash.servers import DurableServer
from tests.pipeline_crash.traffic import GROUP, STREAM, Traffic
from tests.support.programs.servers import ROOT
from tests.support.stores.object_store import BUCKET, SERVERS

# Before each round, so that there is something to be in the middle of.
BACKLOG = 40_000
BATCH = 2_000
MAX_STARTS = 5
LEASE = "1s"
ARCHIVER_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Kill:
    """What is killed, when, and where the archiver writes its files."""

    victim: str  # driver, worker, server
    engine: str
    after_s: float


def plan(rounds: int, chance: random.Random) -> list[Kill]:
    """Each third of the rounds has a victim; half of those that kill the driver run Spark."""
    kills = []
    for number in range(rounds):
        victim = ("driver", "server", "worker")[number % 3]
        engine = "spark" if victim == "worker" or (victim == "driver" and number % 2) else "local"
        # Spark takes its time until there is anything to kill.
        after_s = chance.uniform(0.0, 3.0) if engine == "spark" else chance.uniform(0.3, 2.0)
        kills.append(Kill(victim, engine, after_s))
    return kills


class Scene:
    """A server, its traffic, and an archive."""

    def __init__(self, kind: str, folder: Path, seed: int, bucket: str | None) -> None:
        """`bucket`: where the archive is; None: in the folder."""
        self.server = DurableServer(kind, folder / "server")
        self.archive = f"{bucket}/{folder.name}" if bucket else str(folder / "archive")
        self.catalogue = f"sqlite:///{folder}/catalogue.db"
        self.log = folder / "archiver.log"
        self.traffic = Traffic(lambda: self.server.url, seed)

    def start_archiver(self, engine: str) -> subprocess.Popen[bytes]:
        program = "import sys; from rillway.pipeline.archive.command import main; sys.exit(main())"
        program = program.replace("main()", "main(sys.argv[1:])")
        words = ["--stream", STREAM, "--to", self.archive, "--url", self.server.url]
        words += ["--keep", "0", "--batch", str(BATCH), "--lease", LEASE, "--engine", engine]
        words += ["--iceberg", self.catalogue]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", program, *words],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def finish(self) -> int:
        """Run the archiver to its end; how many entries it still had to archive."""
        time.sleep(1.1)  # until the lease of one that was killed is over
        table = ArchiveTable.open_or_create(self.archive)
        settings = ArchiverSettings(self.server.url, batch_entries=BATCH)
        archived = Archiver(table, LocalEngine(), settings).archive(STREAM).archived
        with Connection(self.server.url) as connection:
            # Else the log grows with every entry there ever was, and each start takes longer.
            connection.call_all([("BGREWRITEAOF",)])
        return archived


def run_round(scene: Scene, kill: Kill) -> str:
    """One crash; what it hit, in words. An archiver that was too quick is started again."""
    scene.traffic.produce(BACKLOG)
    scene.traffic.begin()
    after_s = kill.after_s
    try:
        for _ in range(MAX_STARTS):
            archiver = scene.start_archiver(kill.engine)
            try:
                if kill.engine == "spark":
                    wait_for_worker(archiver)
                if wait(archiver, after_s) is None and (hit := strike(scene, archiver, kill)):
                    if kill.victim != "driver":
                        hit += f"; the archiver ended with {wait(archiver, ARCHIVER_SECONDS)}"
                    return f"{hit} after {after_s:.2f} s"
            finally:
                end_group(archiver)
            after_s /= 2
            scene.traffic.produce(BACKLOG)
    finally:
        scene.traffic.end()
    return "nothing was hit"


def strike(scene: Scene, archiver: subprocess.Popen[bytes], kill: Kill) -> str:
    """What was hit, in words; nothing if there was nothing to hit."""
    if kill.victim == "server":
        scene.server.kill()
        scene.server.start()
        return "the server was killed and started again"
    if kill.victim == "worker":
        workers = python_workers(archiver)
        for worker in workers[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                return "killed a worker"
        return ""
    archiver.kill()
    return "killed the driver"


def wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def end_group(archiver: subprocess.Popen[bytes]) -> None:
    """What a killed driver leaves: its JVM, which is in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(archiver.pid, signal.SIGKILL)
    archiver.wait()


def wait_for_worker(archiver: subprocess.Popen[bytes]) -> None:
    """Until Spark has a Python worker that is not its daemon."""
    deadline = time.monotonic() + ARCHIVER_SECONDS
    while time.monotonic() < deadline and archiver.poll() is None:
        if python_workers(archiver):
            return
        time.sleep(0.1)


def python_workers(archiver: subprocess.Popen[bytes]) -> list[int]:
    """The children of Spark's Python daemon, in the archiver's session."""
    listed = subprocess.run(
        ["ps", "-s", str(archiver.pid), "-o", "pid=,ppid=,args="], capture_output=True, text=True
    ).stdout.splitlines()
    processes = [line.split(None, 2) for line in listed]
    daemons = {pid for pid, _, words in processes if "daemon" in words}
    return [int(pid) for pid, parent, _ in processes if parent in daemons]


# -- what must hold -------------------------------------------------------------------------------


def check(scene: Scene) -> list[str]:
    """What does not hold; nothing, if all is well."""
    table = ArchiveTable.open(scene.archive)
    end = table.end(STREAM)
    archived_end = MIN_ID if end is None else end.id
    found: list[tuple[str, int]] = []
    for _, batch in table.rows(STREAM).batches():
        found += zip(batch.column("id").to_pylist(), numbers_of(batch), strict=True)
    with Connection(scene.server.url) as connection:
        live = connection.call("XRANGE", STREAM, "-", "+")
        needed = needed_ids(connection)
    live_ids = {entry[0].decode() for entry in live}
    found += [
        (entry[0].decode(), int(entry[1][1])) for entry in live if parse_id(entry[0]) > archived_end
    ]
    told = problems(scene.traffic, found, live_ids, needed([entry_id for entry_id, _ in found]))
    return told + mirror_problems(scene, table)


def mirror_problems(scene: Scene, table: ArchiveTable) -> list[str]:
    """Of what was mirrored before the kill, and of what is when it has caught up."""
    catalogue = open_catalogue(scene.catalogue, table.store)
    mirror = Mirror(table.store, scene.catalogue, DEFAULT_ICEBERG_TABLE)
    followed = mirror.follow()
    shown = catalogue.load_table(DEFAULT_ICEBERG_TABLE)
    names = [task.file.file_path.rpartition("/")[2] for task in shown.scan().plan_files()]
    expected = [file.path.rpartition("/")[2] for file in table.files()]
    told = [] if sorted(names) == sorted(expected) else ["the mirror names other files"]
    rows = shown.scan(selected_fields=("id",)).to_arrow().num_rows
    if rows != sum(file.rows for file in table.files()):
        told.append(f"the mirror has {rows:,} rows")
    print(f"        the mirror lagged by {followed.added:,} files", flush=True)
    return told


def numbers_of(batch: pa.RecordBatch) -> list[int]:
    """The one field that each entry has."""
    values = batch.column("fields").flatten().field("value")
    numbers: list[int] = values.cast(pa.string()).cast(pa.int64()).to_pylist()
    return numbers


def needed_ids(connection: Connection) -> Callable[[Iterable[str]], set[str]]:
    """What the group was not given, or has not acknowledged, of the entries that are known."""
    groups = connection.call_all([("XINFO", "GROUPS", STREAM)])[0]
    after = MIN_ID
    for group in groups:
        if group[1].decode() == GROUP:
            after = parse_id(dict(zip(group[::2], group[1::2], strict=True))[b"last-delivered-id"])
    reply = connection.call("XPENDING", STREAM, GROUP, "-", "+", 10_000_000)
    pending = {entry[0].decode() for entry in reply}

    def of(known: Iterable[str]) -> set[str]:
        return {entry_id for entry_id in known if parse_id(entry_id) > after} | pending

    return of


def problems(
    traffic: Traffic, found: list[tuple[str, int]], live: set[str], needed: set[str]
) -> list[str]:
    told = []
    numbers = [number for _, number in found]
    ids = [parse_id(entry_id) for entry_id, _ in found]
    if len(set(numbers)) != len(numbers):
        told.append(f"{len(numbers) - len(set(numbers)):,} entries are there twice")
    if ids != sorted(set(ids)):
        told.append("the entries are not in order")
    missing = set(traffic.acknowledged) - set(numbers) - traffic.deleted
    if missing:
        told.append(f"{len(missing):,} entries are missing, the first is number {min(missing)}")
    foreign = set(numbers) - set(traffic.acknowledged) - traffic.unknown
    if foreign:
        told.append(f"{len(foreign):,} entries were never produced")
    trimmed = needed - live - traffic.deleted_ids
    if trimmed:
        first = format_id(min(map(parse_id, trimmed)))
        told.append(f"{len(trimmed):,} entries that the group needs were trimmed, {first} first")
    return told


# -- queries --------------------------------------------------------------------------------------


def query_beside(kind: str, folder: Path, count: int, seed: int, bucket: str | None) -> list[str]:
    """The queries, with a server and an archive of their own; what does not hold."""
    scene = Scene(kind, folder / "queries", seed, bucket)
    try:
        scene.traffic.produce(BACKLOG)
        scene.finish()
        return run_queries(scene, count) + check(scene)
    finally:
        scene.server.stop()


def run_queries(scene: Scene, count: int) -> list[str]:
    """Queries beside an archiver that never stops."""
    ended = threading.Event()
    rounds = [0]

    def archive() -> None:
        table = ArchiveTable.open(scene.archive)
        while not ended.is_set():
            Archiver(table, LocalEngine(), ArchiverSettings(scene.server.url)).archive(STREAM)
            rounds[0] += 1

    archiver = threading.Thread(target=archive)
    scene.traffic.begin()
    archiver.start()
    told: list[str] = []
    try:
        for number in range(count):
            expected = set(scene.traffic.acknowledged[:])
            with open_history(scene.server.url, STREAM, scene.archive) as history:
                numbers = [n for batch in history.batches() for n in numbers_of(batch)]
            expected -= scene.traffic.deleted
            if len(set(numbers)) != len(numbers) or not expected.issubset(numbers):
                told.append(f"query {number + 1}: {len(numbers):,} entries are not what there is")
                break
    finally:
        ended.set()
        archiver.join()
        scene.traffic.end()
    print(f"{count} queries beside {rounds[0]} rounds of the archiver", flush=True)
    return told


# -- the program ----------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--server", choices=("redis", "rillway"), default="redis")
    parser.add_argument("--store", choices=("folder", *SERVERS), default="folder")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="rillway-archive-crash-"))
    print(f"seed {options.seed}, in {folder}", flush=True)
    stack = contextlib.ExitStack()
    bucket = None
    if options.store in SERVERS:
        variables = stack.enter_context(SERVERS[options.store]())
        # For this process and for all that it starts.
        os.environ.update({name.upper(): value for name, value in variables.items()})
        bucket = f"{options.store}://{BUCKET}"
    scene = Scene(options.server, folder, options.seed, bucket)
    try:
        for number, kill in enumerate(plan(options.rounds, random.Random(options.seed)), start=1):
            hit = run_round(scene, kill)
            rest = scene.finish()
            told = check(scene)
            state = "FAILED" if told else "ok"
            print(
                f"{state:<7} {number:>2} {kill.victim:<6} {kill.engine:<5} {hit}; "
                f"{rest:,} entries were left to archive, "
                f"{len(scene.traffic.acknowledged):,} produced",
                flush=True,
            )
            for line in told:
                print(f"        {line}")
            if told:
                return 1
        told = query_beside(options.server, folder, options.queries, options.seed, bucket)
        print(
            "\n".join(told) or "every entry is there once, and nothing that is needed was trimmed"
        )
        if told:
            return 1
    finally:
        scene.server.stop()
        stack.close()
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
