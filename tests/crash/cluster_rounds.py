"""Rounds in which a primary of a cluster of Rillway and Redis is killed, or stopped for a while.

There are three shards of two nodes of different kinds. A client writes to the primary and waits for
its replica (WAIT 1) until the primary is gone. Then

* the replica is primary after at most twice the node timeout and two seconds;
* it has all that WAIT confirmed;
* the old primary becomes its replica, whether it was killed and starts again, at another port, or
  only was stopped, and all nodes agree.

    python -m tests.crash.cluster_rounds --rounds 50 --seed 1
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.crash.servers import Link
from tests.support.programs.servers import RunningServer, free_port, start_redis, start_rillway

NODE_TIMEOUT_MS = 1_000
FAILOVER_SECONDS = 2 * NODE_TIMEOUT_MS / 1000 + 2
SETTLING_SECONDS = 30.0
WAIT_MS = 100
POLL_SECONDS = 0.02
LONGEST_TRAFFIC_SECONDS = 0.5
KINDS = (start_rillway, start_redis)


class Failed(Exception):
    """A round in which a promise was broken."""


class Node:
    """A node that can be killed, and started again with what it has saved."""

    def __init__(self, folder: Path, start: Callable[..., RunningServer]) -> None:
        folder.mkdir()
        self._folder, self._start = folder, start
        self._bus_port = free_port()
        self._starts = itertools.count(1)
        self.server = self.start()
        self.id = self.ask("CLUSTER", "MYID")

    def start(self) -> RunningServer:
        number = next(self._starts)
        for log in self._folder.glob("*.log"):
            log.rename(log.with_suffix(f".{number}"))
        self.server = self._start(
            self._folder,
            *("--cluster-enabled", "yes", "--cluster-port", str(self._bus_port)),
            *("--cluster-node-timeout", str(NODE_TIMEOUT_MS), "--repl-diskless-sync-delay", "0"),
        )
        return self.server

    def ask(self, *words: str | bytes) -> bytes:
        """The reply as bytes. Raises OSError."""
        with Link(self.server.port) as link:
            reply = link.ask(*words)
            return reply if isinstance(reply, bytes) else str(reply).encode()

    def facts(self) -> bytes:
        """What it says of the cluster and of its replication; empty if it is not there."""
        try:
            return self.ask("CLUSTER", "INFO") + self.ask("INFO", "replication")
        except OSError:
            return b""

    def is_primary(self) -> bool:
        return b"role:master" in self.facts()

    def is_synchronised(self) -> bool:
        facts = self.facts()
        return b"role:slave" in facts and b"master_link_status:up" in facts

    def is_ok(self) -> bool:
        return b"cluster_state:ok" in self.facts()


class Traffic:
    """A client of one primary that writes until the primary is gone. `confirmed`: by WAIT 1."""

    def __init__(self, node: Node, keys: list[str], number: int) -> None:
        self.confirmed: dict[str, bytes] = {}
        self._link = Link(node.server.port)
        self._link.socket.settimeout(NODE_TIMEOUT_MS / 1000)
        self._keys, self._number = keys, number
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        try:
            for count, key in enumerate(itertools.cycle(self._keys)):
                value = b"%d-%d" % (self._number, count)
                # What is written and not confirmed may be there or not.
                self.confirmed.pop(key, None)
                if self._link.ask("SET", key, value) != b"OK":
                    return
                if self._link.ask("WAIT", "1", str(WAIT_MS)) == 1:
                    self.confirmed[key] = value
        except OSError:
            pass

    def end(self) -> None:
        self._thread.join()
        self._link.close()


class ClusterRounds:
    """A cluster in a folder, and what has happened to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self._shards: list[list[Node]] = []
        self._keys: list[list[str]] = []
        self.rounds = self.confirmed = 0
        self.slowest_seconds = 0.0

    def begin(self) -> None:
        """Make the cluster. Each shard has one kind of primary and the other of replica."""
        for number in range(3):
            kinds = KINDS if number % 2 == 0 else KINDS[::-1]
            self._shards.append(
                [Node(self._folder / f"{number}-{place}", kind) for place, kind in enumerate(kinds)]
            )
        addresses = [f"127.0.0.1:{node.server.port}" for node in self._nodes()]
        primaries = addresses[::2]
        self._run_redis_cli("--cluster", "create", *primaries, "--cluster-yes")
        for primary, replica in self._shards:
            first, port = primaries[0].split(":")
            bus_port = str(self._shards[0][0]._bus_port)
            replica.ask("CLUSTER", "MEET", first, port, bus_port)
            wait_until(lambda: replica.ask("CLUSTER", "REPLICATE", primary.id) == b"OK")  # noqa: B023
        self._settle()
        for primary, _ in self._shards:
            names = (f"key:{number}" for number in itertools.count())
            own = (name for name in names if b"MOVED" not in primary.ask("GET", name))
            self._keys.append(list(itertools.islice(own, 20)))

    def _run_redis_cli(self, *words: str) -> None:
        run = subprocess.run(
            ["redis-cli", *words], capture_output=True, text=True, timeout=60, check=False
        )
        if run.returncode:
            raise Failed(run.stdout + run.stderr)

    def _nodes(self) -> list[Node]:
        return [node for shard in self._shards for node in shard]

    def _settle(self) -> None:
        """Wait until all nodes serve, and each shard has a primary and a replica."""
        wait_until(lambda: all(node.is_ok() for node in self._nodes()))
        for shard in self._shards:
            wait_until(lambda: sum(node.is_primary() for node in shard) == 1)  # noqa: B023
            wait_until(lambda: sum(node.is_synchronised() for node in shard) == 1)  # noqa: B023

    def play(self) -> None:
        """One round. Raises Failed."""
        place = self._random.randrange(len(self._shards))
        old, new = sorted(self._shards[place], key=Node.is_primary, reverse=True)
        is_killed = self._random.random() < 0.5
        traffic = Traffic(old, self._keys[place], self.rounds)
        time.sleep(self._random.uniform(0.05, LONGEST_TRAFFIC_SECONDS))
        old.server.process.send_signal(signal.SIGKILL if is_killed else signal.SIGSTOP)
        seconds = wait_until(new.is_primary)
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        traffic.end()
        others = [node for node in self._nodes() if node is not old]
        wait_until(lambda: all(node.is_ok() for node in others))
        self._compare(new, traffic.confirmed)
        if is_killed:
            old.server.process.wait()
            old.start()
        else:
            old.server.process.send_signal(signal.SIGCONT)
        self._settle()
        if not new.is_primary():
            raise Failed("the old primary took over again")
        self._compare(new, traffic.confirmed)
        self.rounds += 1
        self.confirmed += len(traffic.confirmed)

    def _compare(self, node: Node, confirmed: dict[str, bytes]) -> None:
        for key, value in confirmed.items():
            if (found := node.ask("GET", key)) != value:
                raise Failed(f"{node.server.name} has {found!r} for {key}, not {value!r}")

    def end(self) -> None:
        for node in self._nodes():
            if node.server.process.poll() is None:
                node.server.process.send_signal(signal.SIGCONT)
                node.server.stop()


def wait_until(holds: Callable[[], bool]) -> float:
    """The seconds until it holds. Raises Failed."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() > began + SETTLING_SECONDS:
            raise Failed(f"not within {SETTLING_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill and stop primaries of a cluster.")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None, help="for the same choices again")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="rillway-cluster-"))
    print(f"seed {seed}, files in {folder}", flush=True)
    rounds = ClusterRounds(folder, seed)
    try:
        rounds.begin()
        for number in range(1, options.rounds + 1):
            rounds.play()
            if number % 10 == 0:
                print(f"{number} of {options.rounds} failovers", flush=True)
    except Failed as failure:
        print(f"FAILED in round {rounds.rounds + 1}, seed {seed}: {failure}")
        return 1
    finally:
        rounds.end()
    print(
        f"{rounds.rounds} failovers, the slowest {rounds.slowest_seconds:.2f} s"
        f" (at most {FAILOVER_SECONDS:.0f}); {rounds.confirmed} confirmed values were kept"
    )
    return int(rounds.slowest_seconds > FAILOVER_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
