"""Tells a story on the servers of one program, and observes them after each step."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.compat.restarts.lag import (
    CLEARING,
    Requests,
    begin_end,
    ends,
    lagging,
    stopped,
    unable_to_save,
)
from tests.compat.restarts.log_patterns import events
from tests.compat.restarts.nodes import Node, wait_until
from tests.compat.restarts.stories import NODES, Step, Story

# No PING of a primary may come between two looks at an offset; snapshots begin at once.
BACKLOG_BYTES = 16384
DIRECTIVES = (
    *("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600"),
    *("--repl-backlog-size", str(BACKLOG_BYTES), "--enable-debug-command", "yes", "--hz", "50"),
    *("--shutdown-timeout", "100"),
)
DATABASES = (0, 3)
REPLICATION = (
    *("role", "connected_slaves", "master_link_status", "master_failover_state"),
    *("master_repl_offset", "second_repl_offset", "repl_backlog_active", "repl_backlog_histlen"),
    *("repl_backlog_first_byte_offset",),
)
PERSISTENCE = ("aof_enabled", "rdb_last_load_keys_expired", "rdb_last_load_keys_loaded")
STATS = ("sync_full", "sync_partial_ok", "sync_partial_err")


class Telling:
    """Three servers of one program that go through a story."""

    def __init__(self, program: str, folder: Path, story: Story) -> None:
        self.nodes = [
            Node(program, folder / f"{program}-{number}", *DIRECTIVES, *story.directives)
            for number in range(NODES)
        ]
        self._names: dict[str, str] = {}  # of replication IDs, in the order of their appearance
        self._follows: dict[int, int] = {}
        self._heard: list[Any] = []  # the replies during the last step
        for node in self.nodes:
            self._start(node)
            node.fresh_log()

    def stop(self) -> None:
        """End all servers."""
        for node in self.nodes:
            node.stop()

    # -- the steps -----------------------------------------------------------------------------

    def tell(self, step: Step) -> dict[str, Any]:
        """Do one step, wait until all is quiet, and return what can be seen."""
        self._heard = []
        getattr(self, f"_{step.kind}")(self.nodes[step.node], step)
        wait_until(self._is_quiet, f"{self.nodes[0].program} is not quiet after {step}")
        return self._seen()

    def _write(self, node: Node, step: Step) -> None:
        for number, (db, command) in enumerate(step.commands):
            words = [f"{number + 1}-1" if word == "*" else word for word in command]
            node.ask(*words, db=db)

    def _expire(self, node: Node, step: Step) -> None:
        """Keys that expire in a database that is not looked at; the next start finds them."""
        with node.client(5) as client:
            line = client.pipeline(transaction=False)
            for number in range(int(step.how)):
                line.set(f"short{number}", "v", px=1)
            line.execute()

    def _save(self, node: Node, step: Step) -> None:
        with unable_to_save(node, is_unable=step.how.startswith("!")):
            self._heard.append(node.ask(step.how.removeprefix("!")))
            wait_until(lambda: not node.info("persistence")["rdb_bgsave_in_progress"], "a save")
            self._heard += [node.info("persistence")["rdb_last_bgsave_status"], node.ask("PING")]
        node.ask("SAVE")  # until it works writes may be refused

    def _rewrite(self, node: Node, step: Step) -> None:
        node.ask("BGREWRITEAOF")

    def _follow(self, node: Node, step: Step) -> None:
        self._follows[step.node] = step.other
        node.ask("REPLICAOF", "127.0.0.1", self.nodes[step.other].port)

    def _promote(self, node: Node, step: Step) -> None:
        node.ask("REPLICAOF", "NO", "ONE")
        self._gather_around(step.node)

    def _failover(self, node: Node, step: Step) -> None:
        self.nodes[step.other].ask("FAILOVER", "TO", "127.0.0.1", node.port)
        wait_until(lambda: node.info("replication")["role"] == "master", "no failover")
        self._follows.pop(step.node)
        self._follows[step.other] = step.node
        wait_until(self._is_quiet, "the replicas of the old primary do not come back")
        self._gather_around(step.node)

    def _gather_around(self, primary: int) -> None:
        self._follows.pop(primary, None)
        for number, node in enumerate(self.nodes):
            if number != primary and self._follows.get(number) != primary:
                self._follows[number] = primary
                node.ask("REPLICAOF", "127.0.0.1", self.nodes[primary].port)
                wait_until(self._is_quiet, "a replica does not find its new primary")

    def _restart(self, node: Node, step: Step) -> None:
        if step.how == "KILL":
            node.ask("SAVE")
            node.stop()
        elif step.how.startswith("SIG"):
            node.signal(signal.Signals[step.how])
            node.wait_for_end()
        else:
            node.end(step.how)
        self._start_again(node, step)

    def _lag(self, node: Node, step: Step) -> None:
        """A time in which a replica of the node is stopped."""
        how = step.how.removeprefix("!")
        with (
            Requests(node, self.nodes[step.other]) as requests,
            unable_to_save(node, is_unable=step.how.startswith("!")),
        ):
            with stopped(self.nodes[step.other], step.by):
                node.ask("SET", "k0", "not on the replica")
                for words in (*(words for _, words in step.commands), *CLEARING):
                    requests.send(*words)
                    self._heard.append(requests.look())
                wait_until(lambda: lagging(node) == 1, "the other replica lags, too")
                begin_end(node, requests, how)
            has_ended = how != "SIGCONT" and ends(node, requests, how)
            self._heard.append(requests.replies())
        if has_ended:
            self._start_again(node, step)

    def _start_again(self, node: Node, step: Step) -> None:
        """Start a node that has ended, as what it was."""
        followed = self._follows.get(step.node)
        more: tuple[str, ...] = ()
        if followed is not None:
            more = ("--replicaof", f"127.0.0.1 {self.nodes[followed].port}")
        with self._halted(step.node):
            self._start(node, *more)

    def _start(self, node: Node, *more: str) -> None:
        """Start a node. Only a start removes expired keys: when active expiry does is chance."""
        node.start(*more)
        node.ask("DEBUG", "SET-ACTIVE-EXPIRE", 0)

    @contextlib.contextmanager
    def _halted(self, started: int) -> Iterator[None]:
        """The replicas of a node do not run while it starts.

        Redis sends a PING with its first tick, if a replica has come back by then.
        """
        replicas = [self.nodes[number] for number, to in self._follows.items() if to == started]
        for replica in replicas:
            replica.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for replica in replicas:
                replica.signal(signal.SIGCONT)

    # -- what can be seen ----------------------------------------------------------------------

    def _is_quiet(self) -> bool:
        """Links are up, all have the same offset, and primaries know that of their replicas."""
        found = [node.info("replication") for node in self.nodes]
        if any(node.info("persistence")["aof_rewrite_in_progress"] for node in self.nodes):
            return False
        for number, followed in self._follows.items():
            mine, other = found[number], found[followed]
            is_up = mine["role"] == "slave" and mine["master_link_status"] == "up"
            if not is_up or mine["master_repl_offset"] != other["master_repl_offset"]:
                return False
        for number, mine in enumerate(found):
            replicas = [mine[f"slave{index}"] for index in range(mine["connected_slaves"])]
            if len(replicas) != sum(followed == number for followed in self._follows.values()):
                return False
            if any(each["offset"] != mine["master_repl_offset"] for each in replicas):
                return False
        return True

    def _seen(self) -> dict[str, Any]:
        return {
            f"{number}: {what}": value
            for number, node in enumerate(self.nodes)
            for what, value in self._of(node).items()
        }

    def _of(self, node: Node) -> dict[str, Any]:
        replication, stats = node.info("replication"), node.info("stats")
        persistence = node.info("persistence")
        if replication["repl_backlog_histlen"] >= BACKLOG_BYTES:
            # It is full. Which bytes are dropped first depends on how they arrived.
            replication["repl_backlog_histlen"] = BACKLOG_BYTES
            replication["repl_backlog_first_byte_offset"] = "not the first"
        return {
            **{name: replication.get(name) for name in REPLICATION},
            "ids": [self._name(replication[key]) for key in ("master_replid", "master_replid2")],
            **{name: persistence[name] for name in PERSISTENCE},
            **{name: stats[name] for name in STATS},
            "keyspace": {
                db: (found["keys"], found["expires"]) for db, found in node.info("keyspace").items()
            },
            "heard": self._heard,
            "role": node.ask("ROLE")[0],
            "data": [self._data(node, db) for db in DATABASES],
            "exit status": node.exit_status,
            "log": events(node.fresh_log()),
        }

    def _name(self, replication_id: str) -> str:
        """The number of an ID in the order in which they were seen: the IDs are random."""
        return self._names.setdefault(replication_id, f"id {len(self._names)}")

    def _data(self, node: Node, db: int) -> dict[bytes, Any]:
        keys = sorted(node.ask("KEYS", "*", db=db))
        return {key: node.ask("DUMP", key, db=db)[:-10] for key in keys if key[:1] in b"kna"} | {
            key: node.ask("TYPE", key, db=db) for key in keys
        }
