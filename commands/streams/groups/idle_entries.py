"""Entries that have been pending for long: what XREADGROUP with CLAIM begins with (Redis 8.4).

They come from the whole group, the caller's own among them: first what was released (XNACK), in
the order of the releases, then the oldest deliveries. The group keeps them in that order
(storage/groups/claim_order.py), so that it costs next to nothing to find that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from commands.core.client import Client
from commands.streams.groups.delivery import group_changed, propagate_claims
from commands.streams.reading.read_request import ALL
from commands.streams.reading.reply_caps import NO_CAPS, NoCaps
from storage.groups.consumer import Consumer
from storage.groups.group import Group
from storage.groups.pending_block import Row
from storage.stream import Stream

# A client that waits looks for entries this often at most, unless it knows when one is due.
MIN_WAKE_MS = 10
# Entries without content that it passes over each time: the more, the less often, so that clients
# that only wait do not keep the server busy.
PASSED_PER_MS = 100
# As many entries are looked up at once.
ENTRIES_AT_ONCE = 100


class ClaimTurn:
    """One consumer's turn to claim entries of one stream, and to be given new ones after them."""

    def __init__(
        self, client: Client, key: bytes, stream: Stream, group: Group, consumer: Consumer
    ) -> None:
        self.client = client
        self.key = key
        self.stream = stream
        self.group = group
        self.consumer = consumer
        # The encoded entries for the consumer, and their number.
        self.count = 0
        self.pieces: list[bytes] = []

    def take(self, min_idle_ms: int, count: int, caps: NoCaps) -> None:
        """Claim up to `count` entries (ALL: no limit).

        An entry whose content was deleted is skipped and stays pending, as in Redis.
        """
        now_ms = self.client.instance.now_ms
        claimable = self.group.claimable(now_ms, min_idle_ms)
        taken: list[Row] = []
        while self.count != count and caps.admits():
            rows = some_rows(claimable, count, self.count, caps)
            if not rows:
                break
            entries = self.stream.entries_of([row[0] for row in rows])
            for row, entry in zip(rows, entries, strict=True):
                if entry is not None:
                    taken.append(row)
                    self.give(entry, max(now_ms - row[2], 0), row[3], caps)
        if taken:
            self._claim(taken, now_ms)

    def give(self, entry: bytes, idle_ms: int, deliveries: int, caps: NoCaps) -> None:
        """Answer an entry, with how long it was idle and how often it was delivered before."""
        self.count += 1
        answer = b"*4%b:%d\r\n:%d\r\n" % (entry[len(b"*2") :], idle_ms, deliveries)
        self.pieces.append(answer)
        if caps is not NO_CAPS:
            caps.spend(1, len(answer))

    def _claim(self, taken: list[Row], now_ms: int) -> None:
        client, group = self.client, self.group
        counts = group.claim_all(taken, self.consumer, now_ms, deliveries=1)
        self.consumer.active_ms = now_ms
        group_changed(client, self.key, len(taken))
        if client.instance.propagation.sinks:
            ids = [row[0] for row in taken]
            propagate_claims(client, self.key, group, self.consumer, ids, now_ms, counts)


def some_rows(walk: Iterator[Row], count: int, given: int, caps: NoCaps) -> list[Row]:
    """The next of up to `count` rows (ALL: of all), `given` of which were given already.

    As many as their entries are looked up for at once: one where each counts against a cap.
    """
    step = ENTRIES_AT_ONCE if caps is NO_CAPS else 1
    return list(islice(walk, step if count == ALL else min(step, count - given)))


def next_claimable_ms(group: Group, now_ms: int, min_idle_ms: int) -> int:
    """When the next pending entry is old enough, or one that is delivered now.

    Entries that are old enough already were skipped because their content was deleted.
    """
    passed = 0
    for _, owner, delivery_ms, _ in group.claimable(now_ms, 0):
        if owner is not None and now_ms - delivery_ms < min_idle_ms:
            return max(delivery_ms + min_idle_ms, now_ms + passed // PASSED_PER_MS)
        passed += 1
    return now_ms + max(min_idle_ms, MIN_WAKE_MS, passed // PASSED_PER_MS)
