"""The audit of the demo: compares the server's data at the end with the data set.

The ledger is a second stream. Each acknowledgement is written to it in the same transaction as its
XACK, so it has the order of the acknowledgements: the first record that names an entry is the one
whose XACK counted. An entry that a later record names as well was processed twice (which a consumer
group allows), but acknowledged once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from rillway.demo.departures.data_set import Departure, count_by_carrier
from rillway.demo.departures.tally import Counters
from rillway.demo.service import walk


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison; the run succeeded if all of them passed."""

    claim: str
    expected: object
    found: object

    @property
    def passed(self) -> bool:
        return self.expected == self.found


@dataclass(slots=True)
class Ledger:
    """The acknowledgements that the ledger stream records."""

    acknowledged_by: dict[bytes, str] = field(default_factory=dict)
    by_carrier: Counter[str] = field(default_factory=Counter)
    repeated: int = 0

    def add(self, consumer: str, ids: Sequence[bytes], carriers: Sequence[bytes]) -> None:
        """Enter one record, in the ledger's order."""
        for entry_id, carrier in zip(ids, carriers, strict=True):
            if entry_id in self.acknowledged_by:
                self.repeated += 1
            else:
                self.acknowledged_by[entry_id] = consumer
                self.by_carrier[carrier.decode()] += 1

    def by_consumer(self) -> Counter[str]:
        return Counter(self.acknowledged_by.values())


@dataclass(frozen=True, slots=True)
class Evidence:
    """The data to compare. `stream`, `group`: XINFO; `pending`: XPENDING's summary."""

    departures: Sequence[Departure]
    sent_ids: Sequence[bytes]
    tallies: Mapping[str, Counters]
    crashed: Sequence[str]
    expected_crashes: int
    stored: Mapping[bytes, Mapping[bytes, bytes]]
    ledger: Ledger
    stream: Mapping[str, Any]
    group: Mapping[str, Any]
    consumers: Sequence[Mapping[str, Any]]
    pending: Mapping[str, Any]


def read_ledger(client: redis.Redis, key: str) -> Ledger:
    ledger = Ledger()
    for _, record in walk(client, key):
        ledger.add(
            record[b"consumer"].decode(), record[b"ids"].split(), record[b"carriers"].split()
        )
    return ledger


def count_intact(evidence: Evidence) -> int:
    """Return the number of departures stored with the ID that XADD returned and the fields sent."""
    intact = 0
    for entry_id, departure in zip(evidence.sent_ids, evidence.departures, strict=False):
        stored = evidence.stored.get(entry_id, {})
        expected = {name.encode(): value.encode() for name, value in departure.fields().items()}
        scheduled = entry_id.startswith(b"%d-" % departure.scheduled_ms)
        intact += scheduled and expected.items() <= stored.items()
    return intact


def check_stream(evidence: Evidence) -> Iterator[Check]:
    total = len(evidence.departures)
    yield Check("departures sent", total, len(evidence.sent_ids))
    yield Check("the stream's length (XINFO STREAM)", total, evidence.stream["length"])
    yield Check("entries ever added to it", total, evidence.stream["entries-added"])
    yield Check("entries read back by XRANGE", total, len(evidence.stored))
    yield Check("of them with the ID and fields sent", total, count_intact(evidence))
    in_order = list(evidence.stored) == list(evidence.sent_ids)
    yield Check("in the order in which they were sent", True, in_order)


def check_group(evidence: Evidence) -> Iterator[Check]:
    total = len(evidence.departures)
    yield Check("entries the group has read (XINFO GROUPS)", total, evidence.group["entries-read"])
    yield Check("lag of the group", 0, evidence.group["lag"])
    yield Check("pending in the group", 0, evidence.group["pending"])
    yield Check("pending (XPENDING)", 0, evidence.pending["pending"])
    held = sum(consumer["pending"] for consumer in evidence.consumers)
    yield Check("pending with any consumer (XINFO CONSUMERS)", 0, held)


def check_consumers(evidence: Evidence) -> Iterator[Check]:
    total = len(evidence.departures)
    tallies, ledger = evidence.tallies, evidence.ledger
    delivered = sum(tally.delivered for tally in tallies.values())
    yield Check("delivered for the first time", total, delivered)
    acknowledged = sum(tally.acknowledged for tally in tallies.values())
    yield Check("acknowledged, according to XACK's replies", total, acknowledged)
    yield Check("acknowledged, according to the ledger", total, len(ledger.acknowledged_by))
    missing = sum(entry_id not in ledger.acknowledged_by for entry_id in evidence.sent_ids)
    yield Check("departures that no consumer acknowledged", 0, missing)
    answered = Counter({name: tally.acknowledged for name, tally in tallies.items()})
    yield Check(
        "XACK's replies agree with the ledger, for each consumer", ledger.by_consumer(), answered
    )
    yield Check("consumers that crashed", evidence.expected_crashes, len(evidence.crashed))
    abandoned = sum(tallies[name].unacknowledged for name in evidence.crashed)
    claimed = sum(tally.claimed for tally in tallies.values())
    # More than the abandoned entries is allowed: a slow consumer may have lost a batch to another.
    yield Check("all entries that they left were claimed", True, 0 < abandoned <= claimed)


def check_carriers(evidence: Evidence) -> Iterator[Check]:
    expected = count_by_carrier(evidence.departures)
    yield Check("departures of each carrier", expected, evidence.ledger.by_carrier)


def audit(evidence: Evidence) -> list[Check]:
    """Every check, passed or not, in the order of the report."""
    return [
        *check_stream(evidence),
        *check_group(evidence),
        *check_consumers(evidence),
        *check_carriers(evidence),
    ]
