"""Rounds in which a cluster of Rillway and Redis loses primaries, or its network is cut.

There are three shards of two nodes of different kinds. In each round, a client of each shard writes
to its primary, and waits for the replica (WAIT 1). Then something happens:

kill, stop   a primary is killed, or stopped for a while (SIGKILL, SIGSTOP)
minority     the network cuts a primary off from its replica and from the other primaries
majority     the network leaves no side with a majority that has a replica to elect: two primaries
             are alone, or each node is

and this must hold:

* the replica is primary after at most twice the node timeout and two seconds; where no side can
  elect, nobody is elected before the network is mended;
* a primary that is cut off refuses writes once it must have noticed, and takes none after that;
* never do two nodes claim the same slots with the same epoch;
* all that WAIT confirmed is there, when the replica has taken over and when all is well again;
* the old primary becomes a replica of the new one, and all nodes agree.

    python -m tests.crash.cluster_rounds --rounds 50 --seed 1
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tests.crash.servers import Link
from tests.support.programs import cluster
from tests.support.programs.network import Network

NODE_TIMEOUT_MS = 1_000
FAILOVER_SECONDS = 2 * NODE_TIMEOUT_MS / 1000 + 2
# A ping follows the last pong after half a timeout, and has a whole one to be answered in. The
# timers of both kinds look ten times a second.
REFUSAL_SECONDS = 1.5 * NODE_TIMEOUT_MS / 1000 + 0.5
SETTLING_SECONDS = 30.0
WAIT_MS = 100
POLL_SECONDS = 0.05
LONGEST_TRAFFIC_SECONDS = 0.5
KEYS_OF_A_SHARD = 20
EVENTS = ("kill", "stop", "minority", "majority")


class Failed(Exception):
    """A round in which a promise was broken."""


class Node(cluster.Node):
    """A node that others reach through a network that can be cut; clients reach it directly."""

    def __init__(self, kind: str, folder: Path, network: Network) -> None:
        self._network, self._name = network, folder.name
        relay, bus_relay = network.relay(self._name), network.relay(self._name)
        directives = [
            *("--cluster-announce-port", str(relay.port)),
            *("--cluster-announce-bus-port", str(bus_relay.port)),
        ]
        super().__init__(kind, folder, *directives, node_timeout_ms=NODE_TIMEOUT_MS)
        relay.target_port, bus_relay.target_port = self.server.port, self.bus_port
        network.ids[self.id.encode()] = self._name
        self._note_process()

    @property
    def name(self) -> str:
        """Among the servers of the network."""
        return self._name

    def _note_process(self) -> None:
        self._network.processes[self._name] = self.server.process.pid

    def start_again(self) -> None:
        super().start_again()
        self._note_process()

    def ask(self, *words: str | bytes) -> bytes:
        """The reply as bytes. Raises OSError."""
        with Link(self.server.port) as link:
            reply = link.ask(*words)
            return reply if isinstance(reply, bytes) else str(reply).encode()

    def state(self) -> bytes:
        """What it says of the cluster and of its replication; empty if it is not there."""
        try:
            return self.ask("CLUSTER", "INFO") + self.ask("INFO", "replication")
        except OSError:
            return b""

    def is_primary(self) -> bool:
        return b"role:master" in self.state()

    def is_synchronised(self) -> bool:
        state = self.state()
        return b"role:slave" in state and b"master_link_status:up" in state

    def is_ok(self) -> bool:
        return b"cluster_state:ok" in self.state()


class Traffic:
    """A client of one primary that writes until it is refused. `confirmed`: by WAIT 1."""

    def __init__(self, node: Node, keys: list[str], number: int) -> None:
        self.node = node
        self.confirmed: dict[str, bytes] = {}
        self.last_accepted = 0.0
        self.is_refused = False
        self.accepted_after_refusal = 0
        self._is_ended = False
        self._link = Link(node.server.port)
        self._link.socket.settimeout(NODE_TIMEOUT_MS / 1000)
        self._keys, self._number = keys, number
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        # A primary that is stopped or gone does not answer.
        with suppress(OSError):
            for count, key in enumerate(itertools.cycle(self._keys)):
                if self._is_ended:
                    return
                self._write_one(key, b"%d-%d" % (self._number, count))

    def _write_one(self, key: str, value: bytes) -> None:
        sent = time.monotonic()
        # What is sent and not confirmed may be there or not.
        before = self.confirmed.pop(key, None)
        if self._link.ask("SET", key, value) != b"OK":
            if before is not None:
                self.confirmed[key] = before
            self.is_refused = True
            time.sleep(POLL_SECONDS)
            return
        self.last_accepted = sent
        self.accepted_after_refusal += self.is_refused
        if self._link.ask("WAIT", "1", str(WAIT_MS)) == 1:
            self.confirmed[key] = value

    def end(self) -> None:
        self._is_ended = True
        self._thread.join()
        self._link.close()


class Watch:
    """Looks at what nodes claim: slots have one owner in each epoch. `conflicts`: where not."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.conflicts: list[str] = []
        self._owners: dict[tuple[str, str], str] = {}
        self._is_ended = False
        self._threads = [threading.Thread(target=self._look_at, args=(node,)) for node in nodes]
        for thread in self._threads:
            thread.start()

    def _look_at(self, node: Node) -> None:
        while not self._is_ended:
            with suppress(OSError), Link(node.server.port) as link:
                link.socket.settimeout(NODE_TIMEOUT_MS / 1000)
                while not self._is_ended:
                    if isinstance(lines := link.ask("CLUSTER", "NODES"), bytes):  # or it is loading
                        self._note(lines.decode())
                    time.sleep(POLL_SECONDS)
            time.sleep(POLL_SECONDS)

    def _note(self, lines: str) -> None:
        (line,) = [line for line in lines.splitlines() if "myself" in line]
        node_id, _, flags, _, _, _, epoch, _, *slots = line.split()
        if "master" in flags and slots:
            owner = self._owners.setdefault((epoch, " ".join(slots)), node_id)
            if owner != node_id:
                self.conflicts.append(f"{owner} and {node_id} have {slots} with epoch {epoch}")

    def end(self) -> None:
        self._is_ended = True
        for thread in self._threads:
            thread.join()


class ClusterRounds:
    """A cluster in a folder, and what has happened to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self._network = Network()
        self._shards: list[list[Node]] = []
        self._keys: list[list[str]] = []
        self._watch: Watch | None = None
        self.rounds = self.confirmed = 0
        self.slowest_seconds = 0.0
        # The longest that a primary of a kind took writes after it was cut off.
        self.refusal_seconds = {"rillway": 0.0, "redis": 0.0}

    def begin(self) -> None:
        """Make the cluster. Each shard has one kind of primary and the other of replica."""
        for number in range(3):
            kinds = ("rillway", "redis") if number % 2 == 0 else ("redis", "rillway")
            self._shards.append(
                [
                    Node(kind, self._folder / f"{number}-{place}", self._network)
                    for place, kind in enumerate(kinds)
                ]
            )
        first = self._shards[0][0]
        cluster.redis_cli("create", *(one.address for one, _ in self._shards), "--cluster-yes")
        for primary, replica in self._shards:
            bus_port = str(first.bus_port)
            replica.ask("CLUSTER", "MEET", "127.0.0.1", str(first.server.port), bus_port)
            wait_until(lambda: replica.ask("CLUSTER", "REPLICATE", primary.id) == b"OK")  # noqa: B023
        self._settle()
        for primary, _ in self._shards:
            names = (f"key:{number}" for number in itertools.count())
            own = (name for name in names if b"MOVED" not in primary.ask("GET", name))
            self._keys.append(list(itertools.islice(own, KEYS_OF_A_SHARD)))
        self._watch = Watch(self._nodes())

    def _nodes(self) -> list[Node]:
        return [node for shard in self._shards for node in shard]

    def _settle(self) -> None:
        """Wait until all nodes serve, and each shard has a primary and a replica."""
        wait_until(lambda: all(node.is_ok() for node in self._nodes()))
        for shard in self._shards:
            wait_until(lambda: sum(node.is_primary() for node in shard) == 1)  # noqa: B023
            wait_until(lambda: sum(node.is_synchronised() for node in shard) == 1)  # noqa: B023

    def play(self, event: str) -> None:
        """One round. Raises Failed."""
        for shard in self._shards:
            shard.sort(key=Node.is_primary, reverse=True)
        traffic = [
            Traffic(shard[0], keys, self.rounds)
            for shard, keys in zip(self._shards, self._keys, strict=True)
        ]
        place = self._random.randrange(len(self._shards))
        new = self._shards[place][1]
        try:
            time.sleep(self._random.uniform(0.05, LONGEST_TRAFFIC_SECONDS))
            if event in ("kill", "stop"):
                self._lose(place, traffic, is_killed=event == "kill")
            elif event == "minority":
                self._cut_minority(place, traffic)
            else:
                self._cut_majority(place, traffic)
            self._settle()
        finally:
            for each in traffic:
                each.end()
        # After a cut, messages arrive that say of the new primary that it has failed.
        if event in ("kill", "stop") and not new.is_primary():
            raise Failed("the old primary took over again")
        for shard, each in zip(self._shards, traffic, strict=True):
            self._compare(next(filter(Node.is_primary, shard)), each.confirmed)
            self.confirmed += len(each.confirmed)
        self._check_watch()
        self.rounds += 1

    def _check_watch(self) -> None:
        if self._watch is not None and self._watch.conflicts:
            raise Failed(self._watch.conflicts[0])

    def _lose(self, place: int, traffic: list[Traffic], is_killed: bool) -> None:
        """A primary is killed and starts again, or is stopped and goes on."""
        old, new = self._shards[place]
        old.server.process.send_signal(signal.SIGKILL if is_killed else signal.SIGSTOP)
        self._wait_for_failover(new)
        traffic[place].end()
        others = [node for node in self._nodes() if node is not old]
        wait_until(lambda: all(node.is_ok() for node in others))
        self._compare(new, traffic[place].confirmed)
        if is_killed:
            old.server.process.wait()
            old.start_again()
        else:
            old.server.process.send_signal(signal.SIGCONT)

    def _cut_minority(self, place: int, traffic: list[Traffic]) -> None:
        """A primary is alone, or with replicas of the others."""
        old, new = self._shards[place]
        replicas = [shard[1] for shard in self._shards if shard[1] is not new]
        minority = [old, *self._random.sample(replicas, self._random.randrange(3))]
        cut = self._cut(minority, [node for node in self._nodes() if node not in minority])
        self._wait_for_failover(new)
        self._wait_for_refusal(cut, [traffic[place]])
        self._compare(new, traffic[place].confirmed)
        self._network.mend()

    def _cut_majority(self, place: int, traffic: list[Traffic]) -> None:
        """Two primaries without replicas, and the other with all replicas; or each node alone."""
        if self._random.random() < 0.5:
            sides = [[node] for node in self._nodes()]
        else:
            majority = [shard[0] for shard in self._shards if shard is not self._shards[place]]
            sides = [majority, [node for node in self._nodes() if node not in majority]]
        primaries = [shard[0] for shard in self._shards]
        cut = self._cut(*sides)
        self._wait_for_refusal(cut, traffic)
        # Longer than elections would take.
        time.sleep(max(0.0, cut + FAILOVER_SECONDS - time.monotonic()))
        if not all(node.is_primary() for node in primaries):
            raise Failed("a minority has elected a primary")
        self._network.mend()

    def _cut(self, *sides: list[Node]) -> float:
        """When it was cut."""
        self._network.cut(*([node.name for node in side] for side in sides))
        return time.monotonic()

    def _wait_for_failover(self, new: Node) -> None:
        self.slowest_seconds = max(self.slowest_seconds, wait_until(new.is_primary))

    def _wait_for_refusal(self, cut: float, traffic: list[Traffic]) -> None:
        """Until the primaries refuse writes."""
        wait_until(lambda: all(each.is_refused for each in traffic))
        for each in traffic:
            if each.accepted_after_refusal:
                raise Failed(f"{each.node.server.name} took a write after it had refused others")
            kind, seconds = each.node.kind, each.last_accepted - cut
            self.refusal_seconds[kind] = max(self.refusal_seconds[kind], seconds)

    def _compare(self, node: Node, confirmed: dict[str, bytes]) -> None:
        wait_until(node.is_ok)
        for key, value in dict(confirmed).items():  # its client may go on
            if (found := node.ask("GET", key)) != value:
                raise Failed(f"{node.server.name} has {found!r} for {key}, not {value!r}")

    def end(self) -> None:
        if self._watch is not None:
            self._watch.end()
        for node in self._nodes():
            if node.server.process.poll() is None:
                node.server.process.send_signal(signal.SIGCONT)
            node.stop()
        self._network.close()

    def summary(self) -> str:
        refusals = ", ".join(
            f"{kind} {seconds:.2f} s" for kind, seconds in self.refusal_seconds.items()
        )
        return (
            f"{self.rounds} rounds; the slowest failover took {self.slowest_seconds:.2f} s (at most"
            f" {FAILOVER_SECONDS:.0f}); primaries that were cut off took writes for up to:"
            f" {refusals} (at most {REFUSAL_SECONDS:.0f}); {self.confirmed} confirmed values were"
            " kept"
        )


def wait_until(holds: Callable[[], bool]) -> float:
    """The seconds until it holds. Raises Failed."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() > began + SETTLING_SECONDS:
            raise Failed(f"not within {SETTLING_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill, stop and cut off primaries of a cluster.")
    parser.add_argument("--rounds", type=int, default=50, help="of each kind")
    parser.add_argument("--only", choices=EVENTS, action="append", help="repeatable")
    parser.add_argument("--seed", type=int, default=None, help="for the same choices again")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="rillway-cluster-"))
    print(f"seed {seed}, files in {folder}", flush=True)
    rounds = ClusterRounds(folder, seed)
    event = ""
    try:
        rounds.begin()
        for number in range(1, options.rounds + 1):
            for event in options.only or EVENTS:
                rounds.play(event)
            if number % 10 == 0:
                print(f"{number} of {options.rounds}: {rounds.summary()}", flush=True)
    except Failed as failure:
        print(f"FAILED in round {rounds.rounds + 1} ({event}), seed {seed}: {failure}")
        return 1
    finally:
        rounds.end()
    print(rounds.summary())
    is_late = max(rounds.refusal_seconds.values()) > REFUSAL_SECONDS
    return int(rounds.slowest_seconds > FAILOVER_SECONDS or is_late)


if __name__ == "__main__":
    sys.exit(main())
