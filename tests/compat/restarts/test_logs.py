"""Both programs go through the same events; after each, the same patterns find lines in both logs.

The patterns (log_patterns.py) are what people search logs for, and what Redis's own tests wait for.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.compat.restarts.log_patterns import EVENTS, found
from tests.compat.restarts.nodes import OURS, THEIRS, Node, wait_until

pytestmark = pytest.mark.compat

DIRECTIVES = (
    *("--loglevel", "verbose", "--save", "", "--enable-debug-command", "yes"),
    *("--repl-diskless-sync-delay", "0", "--hz", "50"),
)
# After each event: for each of the two servers, the patterns that find a line.
Findings = dict[str, list[set[str]]]


class Pair:
    """Two servers of one program."""

    def __init__(self, program: str, folder: Path, *directives: str) -> None:
        self.findings: Findings = {}
        self.one, self.two = self.nodes = [
            Node(program, folder / f"{program}-{number}", *DIRECTIVES, *directives)
            for number in (1, 2)
        ]

    def note(self, event: str, until: Callable[[], bool]) -> None:
        """Wait for the end of an event, and note what the logs hold of it."""
        wait_until(until, f"{self.nodes[0].program}: {event}")
        self.findings[event] = [found(node.fresh_log()) for node in self.nodes]

    def follow(self, replica: Node, primary: Node) -> None:
        replica.ask("REPLICAOF", "127.0.0.1", primary.port)

    def is_linked(self, replica: Node, primary: Node) -> bool:
        """Whether the link is up, and the primary knows that the replica has everything."""
        mine, other = replica.info("replication"), primary.info("replication")
        if mine["role"] != "slave" or mine["master_link_status"] != "up":
            return False
        if "Synchronization with replica" not in primary.log():
            return False
        known = other.get("slave0", {})
        return bool(known.get("offset") == other["master_repl_offset"] != 0)

    def linked(self) -> bool:
        return self.is_linked(self.two, self.one)

    def has_no_child(self) -> bool:
        for node in self.nodes:
            state = node.info("persistence")
            if any(state[f"{kind}_in_progress"] for kind in ("rdb_bgsave", "aof_rewrite")):
                return False
            if state["aof_rewrite_scheduled"]:
                return False
        return True

    def says(self, node: Node, text: str) -> Callable[[], bool]:
        """A condition: the log has a line with a text."""
        return lambda: text in node.log()


@contextlib.contextmanager
def running(program: str, folder: Path, *directives: str) -> Iterator[Pair]:
    pair = Pair(program, folder, *directives)
    try:
        for node in pair.nodes:
            node.start()
            node.fresh_log()
        yield pair
    finally:
        for node in pair.nodes:
            node.stop()


def synchronisation(pair: Pair) -> None:
    """Full and partial synchronisations, from disk and diskless, and their refusals."""
    one, two = pair.one, pair.two
    one.ask("SET", "a", "1")
    pair.follow(two, one)
    one.ask("SET", "a", "2")
    pair.note("a full synchronisation through a pipe", pair.linked)
    pair.follow(two, one)
    pair.note("the same primary again", pair.linked)
    two.ask("REPLICAOF", "NO", "ONE")
    pair.note("promoted", lambda: one.info("replication")["connected_slaves"] == 0)
    one.ask("CONFIG", "SET", "repl-diskless-sync", "no")
    two.ask("SET", "b", "1")
    pair.follow(two, one)
    pair.note("a full synchronisation from disk", pair.linked)
    one.ask("CLIENT", "KILL", "TYPE", "replica")
    pair.note("resumed after the primary has closed", pair.says(two, "accepted a Partial"))
    two.ask("CLIENT", "KILL", "TYPE", "master")
    pair.note("resumed after the replica has closed", lambda: two.log().count("d a Partial") == 2)


def wrong_password(pair: Pair) -> None:
    """A replica that the primary does not let in, with a password and without one."""
    one, two = pair.one, pair.two
    two.ask("CONFIG", "SET", "masterauth", "wrong")
    one.ask("CONFIG", "SET", "requirepass", "secret")
    pair.follow(two, one)
    wait_until(pair.says(two, "Unable to AUTH to MASTER"), "no line")
    two.ask("REPLICAOF", "NO", "ONE")
    pair.note("a wrong password", lambda: two.info("replication")["role"] == "master")
    two.ask("CONFIG", "SET", "masterauth", "")
    pair.follow(two, one)
    refusal = "MASTER aborted replication with an error: NOAUTH"
    wait_until(lambda: two.log().count(refusal) > 1, "no line")
    two.ask("REPLICAOF", "NO", "ONE")
    pair.note("no password", lambda: two.info("replication")["role"] == "master")


def silence(pair: Pair) -> None:
    """Timeouts on both sides."""
    one, two = pair.one, pair.two
    one.ask("CONFIG", "SET", "repl-ping-replica-period", 1)
    pair.follow(two, one)
    wait_until(pair.linked, "not linked")
    for node in pair.nodes:
        node.fresh_log()
    one.ask("CONFIG", "SET", "repl-timeout", 2)
    two.signal(signal.SIGSTOP)
    wait_until(pair.says(one, "Disconnecting timedout replica (streaming sync)"), "no line")
    two.signal(signal.SIGCONT)
    pair.note("a silent replica", lambda: two.log().count("d a Partial") == 1)
    one.ask("CONFIG", "SET", "repl-timeout", 60)
    two.ask("CONFIG", "SET", "repl-timeout", 2)
    one.signal(signal.SIGSTOP)
    wait_until(pair.says(two, "MASTER timeout: no data nor PING received"), "no line")
    wait_until(pair.says(two, "Timeout connecting to the MASTER"), "no line")
    one.signal(signal.SIGCONT)
    pair.note("a silent primary", lambda: two.log().count("d a Partial") == 2)
    two.signal(signal.SIGSTOP)  # which would otherwise reach the socket of the dying process
    one.stop()
    two.signal(signal.SIGCONT)
    wait_until(lambda: two.log().count("Error condition on socket for SYNC") > 1, "no line")
    pair.findings["no primary"] = [found(two.fresh_log())]


def failover(pair: Pair) -> None:
    """FAILOVER that succeeds, that takes too long, and that is called off."""
    one, two = pair.one, pair.two
    one.ask("SET", "a", "1")
    pair.follow(two, one)
    wait_until(pair.linked, "not linked")
    for node in pair.nodes:
        node.fresh_log()
    one.ask("FAILOVER", "TO", "127.0.0.1", two.port)
    pair.note("to a replica", pair.says(one, "Master accepted a Partial Resynchronization"))
    two.ask("FAILOVER")
    pair.note("to any", pair.says(two, "Master accepted a Partial Resynchronization"))
    two.signal(signal.SIGSTOP)
    one.ask("SET", "a", "2")
    one.ask("FAILOVER", "TO", "127.0.0.1", two.port, "TIMEOUT", 100)
    pair.note("in vain", pair.says(one, "Replica never caught up before timeout"))
    one.ask("FAILOVER")
    one.ask("FAILOVER", "ABORT")
    pair.note("called off", pair.says(one, "Failover manually aborted"))
    one.ask("FAILOVER", "TO", "127.0.0.1", two.port, "FORCE", "TIMEOUT", 100)
    wait_until(pair.says(one, "time out exceeded, failing over."), "no line")
    one.ask("FAILOVER", "ABORT")
    pair.note("forced", lambda: one.info("replication")["role"] == "master")


def saving(pair: Pair) -> None:
    """Snapshots: requested, due, killed, and refused while a rewrite runs."""
    one = pair.one
    one.ask("SET", "a", "1")
    one.ask("SAVE")
    pair.note("SAVE", pair.has_no_child)
    one.ask("BGSAVE")
    pair.note("BGSAVE", pair.has_no_child)
    one.ask("CONFIG", "SET", "save", "1 1")
    one.ask("SET", "a", "2")
    wait_until(pair.says(one, "changes in 1 seconds. Saving..."), "no line")
    one.ask("CONFIG", "SET", "save", "")
    pair.note("due", pair.has_no_child)


def rewriting(pair: Pair) -> None:
    """The append-only file: switched on, rewritten, off while it is written, scheduled."""
    one = pair.one
    one.ask("CONFIG", "SET", "appendonly", "yes")
    pair.note("switched on", pair.has_no_child)
    one.ask("SET", "a", "1")
    one.ask("BGREWRITEAOF")
    pair.note("BGREWRITEAOF", pair.has_no_child)
    one.ask("CONFIG", "SET", "rdb-key-save-delay", 10_000_000)
    one.ask("BGREWRITEAOF")
    one.ask("CONFIG", "SET", "appendonly", "no")
    pair.note("switched off meanwhile", pair.has_no_child)
    one.ask("BGSAVE")
    one.ask("CONFIG", "SET", "appendonly", "yes")
    pair.note("switched on during a BGSAVE", pair.says(one, "there is already another background"))
    one.ask("CONFIG", "SET", "appendonly", "no")
    one.ask("CONFIG", "SET", "rdb-key-save-delay", 0)
    one.end("SHUTDOWN NOSAVE")
    one.fresh_log()
    one.start("--appendonly", "yes")
    one.ask("MSET", "a", "1" * 10_000, "b", "2")
    pair.note("a start", pair.has_no_child)
    one.ask("CONFIG", "SET", "auto-aof-rewrite-min-size", "1")
    one.ask("SET", "a", "2" * 10_000)
    wait_until(pair.says(one, "Starting automatic rewriting of AOF on"), "no line")
    one.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
    pair.note("grown", pair.has_no_child)
    one.end("SHUTDOWN NOSAVE")


STORIES = (synchronisation, wrong_password, silence, failover, saving, rewriting)


def difference(ours: Findings, theirs: Findings) -> str:
    """What only one of the two says, a line for each."""
    return "\n".join(
        f"{event}, server {number}: only {program}: {pattern}"
        for event in theirs
        for number, (mine, other) in enumerate(zip(ours[event], theirs[event], strict=True), 1)
        for program, patterns in ((OURS, mine - other), (THEIRS, other - mine))
        for pattern in sorted(patterns)
    )


def told(program: str, folder: Path, story: Callable[[Pair], None]) -> Findings:
    with running(program, folder) as pair:
        story(pair)
        return pair.findings


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_same_patterns_find_lines_in_both_logs(
    story: Callable[[Pair], None], tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        ours, theirs = pool.map(lambda name: told(name, tmp_path, story), (OURS, THEIRS))
    assert any(patterns for event in theirs.values() for patterns in event)
    differs = difference(ours, theirs)
    assert not differs, differs


def panicking(program: str, folder: Path, behavior: str) -> tuple[bool, set[str]]:
    """A replica that gets a command that it does not know: whether it has ended, and its log."""
    directives = ("--propagation-error-behavior", behavior)
    with running(program, folder, *directives) as pair:
        pair.follow(pair.two, pair.one)
        wait_until(pair.linked, "not linked")
        pair.two.ask("CONFIG", "SET", "replica-read-only", "no")
        pair.two.ask("SET", "n", "text")
        pair.two.ask("CONFIG", "SET", "replica-read-only", "yes")
        pair.one.ask("INCRBY", "n", "1")
        wait_until(pair.says(pair.two, "== CRITICAL =="), "no line")
        if behavior == "ignore":
            wait_until(pair.linked, "the replica does not go on")
            has_ended = False
        else:
            pair.two.wait_for_end()
            has_ended = pair.two.exit_status != 0
        return has_ended, found(pair.two.log()) & {*EVENTS["errors"]}


@pytest.mark.parametrize(
    "behavior",
    [pytest.param("ignore", marks=pytest.mark.thorough), "panic", "panic-on-replicas"],
)
def test_both_treat_an_error_of_a_replica_alike(behavior: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        ours, theirs = pool.map(lambda name: panicking(name, tmp_path, behavior), (OURS, THEIRS))
    assert ours == theirs
    assert theirs[0] == (behavior != "ignore")
