"""Rounds of `make failover`: the primary is killed or stopped, and what follows is judged."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tests.failover.cluster import DOWN_AFTER_MS, MAX_LAG_SECONDS, Cluster, Failed, Node, wait_for
from tests.failover.load import PLAIN, WAITED, Ledger, Message, insist, messages
from tests.support.replicas import contents, wait_for_offset

LOAD_SECONDS = 1.5  # before a primary is hurt
# A primary looks once a second how late its replicas are, and Redis counts that in whole seconds.
BOUND_SECONDS = MAX_LAG_SECONDS + 2.0
KILL, STOP = "SIGKILL", "SIGSTOP"
_PROMOTION = re.compile(r"^\d+:\w (\S+ \S+ \S+ \S+) \* MASTER MODE enabled", re.MULTILINE)


@dataclass(frozen=True)
class Wound:
    """What was done to a primary, and what came of it."""

    how: str
    at: float
    back_at: float  # when it was started or continued
    without_primary_seconds: float


@dataclass
class Verdict:
    """What the whole run has shown."""

    acknowledged: dict[bytes, int]
    lost: dict[bytes, list[Message]]
    beyond_bound: list[Message]  # lost, and not by what is documented
    not_delivered: list[Message]
    delivered_twice: int
    wounds: list[Wound]

    def problems(self) -> list[str]:
        """Promises that were broken."""
        found = {
            "lost although a replica had them": self.lost[WAITED],
            "lost outside of the time that min-replicas allows": self.beyond_bound,
            "never delivered": self.not_delivered,
        }
        return [f"{len(lost)} messages {how}: {lost[:3]}" for how, lost in found.items() if lost]


class Rounds:
    """Plays rounds on a set of servers under load."""

    def __init__(self, cluster: Cluster, ledger: Ledger) -> None:
        self.cluster = cluster
        self.ledger = ledger
        self.wounds: list[Wound] = []

    def play(self, how: str) -> Wound:
        """Hurt the primary, see another one take over, and let the first come back."""
        old = self.cluster.primary()
        assert old is not None
        time.sleep(LOAD_SECONDS)
        at = time.monotonic()
        old.signal(signal.SIGKILL if how == KILL else signal.SIGSTOP)
        wait_for(lambda: self._is_replaced(old), f"no replica takes over after {how}")
        new_at = time.monotonic()
        wait_for(
            lambda: self.ledger.has_acknowledged_after(new_at),
            f"nothing is acknowledged after {how}",
        )
        gap = self.ledger.longest_gap(at)
        back_at = time.monotonic()
        if how == KILL:
            old.start()
        else:
            old.signal(signal.SIGCONT)
            name = b"insisting-%d" % len(self.wounds)
            insist(old.port, name, self.ledger, lambda: self._is_replica(old, back_at))
        self.cluster.wait_until_whole()
        self.wounds.append(Wound(how, at, back_at, gap))
        return self.wounds[-1]

    def _is_replaced(self, old: Node) -> bool:
        primary = self.cluster.primary()
        return primary is not None and primary is not old

    def _is_replica(self, node: Node, since: float) -> bool:
        if time.monotonic() > since + 30:
            raise Failed("the old primary does not become a replica")
        return node.replication().get("role") == "slave"

    def judge(self) -> Verdict:
        """Once nothing is under way any more: compare the servers, and the ledger with them."""
        primary = self.cluster.primary()
        assert primary is not None
        self._compare_servers(primary)
        with primary.client() as client:
            return judged(self.ledger, messages(client), self.wounds, self._second_promotions())

    def _second_promotions(self) -> list[float]:
        """The times at which Sentinel replaced a primary that was neither killed nor stopped.

        On a loaded machine two Sentinels may promote one replica each, one after the other.
        """
        ahead = time.time() - time.monotonic()
        logs = [(node.folder / "log").read_text() for node in self.cluster.nodes]
        found = [text for log in logs for text in _PROMOTION.findall(log)]
        times = sorted(datetime.strptime(t, "%d %b %Y %H:%M:%S.%f").timestamp() for t in found)
        promotions = [moment - ahead for moment in times]
        first = {next((p for p in promotions if p > wound.at), None) for wound in self.wounds}
        return [moment for moment in promotions if moment not in first]

    def _compare_servers(self, primary: Node) -> None:
        replicas = [node for node in self.cluster.nodes if node is not primary]
        # A Redis 7.0 does not tell all of it.
        told = all(node.kind == "rillway" for node in self.cluster.nodes)
        expected = contents(primary.as_server(), told=told)
        for replica in replicas:
            wait_for_offset(replica.as_server(), primary.as_server())
            if contents(replica.as_server(), told=told) != expected:
                raise Failed(f"{replica.folder.name} does not hold what the primary holds")


def judged(
    ledger: Ledger, kept: set[Message], wounds: list[Wound], promotions: Sequence[float] = ()
) -> Verdict:
    """The ledger beside what is in the streams at the end."""
    acknowledged, processed = ledger.acknowledged(), ledger.processed()
    lost = [message for message in acknowledged if message not in kept]
    return Verdict(
        {s: sum(message[0] == s for message in acknowledged) for s in (WAITED, PLAIN)},
        {s: [message for message in lost if message[0] == s] for s in (WAITED, PLAIN)},
        [m for m in lost if m[0] == PLAIN and not is_allowed(acknowledged[m], wounds, promotions)],
        [m for m in acknowledged if m in kept and m not in processed],
        sum(count > 1 for count in processed.values()),
        wounds,
    )


def is_allowed(at: float, wounds: list[Wound], promotions: Sequence[float] = ()) -> bool:
    """Return True if a message of that time may be lost: its primary could not know better yet.

    `promotions`: of other primaries beside one that was not hurt.
    """
    if any(abs(at - moment) <= BOUND_SECONDS for moment in promotions):
        return True
    return any(
        wound.at - BOUND_SECONDS <= at <= wound.at + DOWN_AFTER_MS / 1000
        or (wound.how == STOP and wound.back_at <= at <= wound.back_at + BOUND_SECONDS)
        for wound in wounds
    )
