"""Idempotent producing: the message IDs of producers that a stream remembers (Redis 8.6).

A producer (pid) gives each message an ID (iid). While a stream remembers the pair, it knows the
entry that the message became, and does not add it twice. It remembers messages for a number of
seconds, and up to a maximal number for each producer.

Guarantees: the size limit holds at all times. `expire`, which is called periodically and whose cost
is bounded, enforces the age limit; a look-up does not check the age. The age is that of the entry's
ID (Redis 8.6).

Leaves out: whether the entry still exists; a duplicate is one even if its entry was deleted.
"""

from __future__ import annotations

from itertools import dropwhile, islice, takewhile

import xxhash

from storage.entries.entry_id import MAX_ID, EntryID, id_ms
from storage.memory import allocated_bytes, instance_bytes

DEFAULT_DURATION_S = 100
DEFAULT_MAXSIZE = 100

HASH_BITS = 128

_ID_BYTES = allocated_bytes(MAX_ID)


class Idempotence:
    """The messages that one stream remembers; see the module."""

    __slots__ = (
        "__weakref__",
        "_messages_bytes",
        "added",
        "duplicates",
        "duration_s",
        "iids_tracked",
        "maxsize",
        "producers",
    )

    def __init__(
        self, duration_s: int = DEFAULT_DURATION_S, maxsize: int = DEFAULT_MAXSIZE
    ) -> None:
        self.duration_s = duration_s  # how long a message is remembered
        self.maxsize = maxsize  # the maximal number of messages of a producer
        self.producers: dict[bytes, dict[bytes, EntryID]] = {}  # pid -> iid -> entry, oldest first
        self.iids_tracked = 0
        self._messages_bytes = 0  # the memory of producers and messages, without entries' IDs
        self.added = 0  # messages that were ever recorded
        self.duplicates = 0  # requests that were duplicates

    @property
    def pids_tracked(self) -> int:
        """The number of producers with a remembered message."""
        return len(self.producers)

    def find(self, pid: bytes, iid: bytes) -> EntryID | None:
        """The entry that a message became; None if it is not remembered."""
        messages = self.producers.get(pid)
        return None if messages is None else messages.get(iid)

    def note_duplicate(self) -> None:
        """Count a duplicate."""
        self.duplicates += 1

    def record(self, pid: bytes, iid: bytes, entry_id: EntryID) -> None:
        """Remember a new message; the producer's oldest is evicted if there are too many.

        A replica may still remember the message because it expires IDs later; the new entry
        replaces it.
        """
        messages = self.producers.get(pid)
        if messages is None:
            messages = self.producers[pid] = {}
            self._messages_bytes += _producer_bytes(pid, messages)
        former_bytes = allocated_bytes(messages)
        if messages.pop(iid, None) is None:
            self.iids_tracked += 1
            self._messages_bytes += allocated_bytes(iid)
        messages[iid] = entry_id
        self._messages_bytes += allocated_bytes(messages) - former_bytes
        self.added += 1
        if len(messages) > self.maxsize:
            self._forget(pid, 1)

    def expire(self, now_ms: int, max_producers: int | None = None) -> int:
        """Remove expired messages; return their number.

        Checks at most `max_producers` producers (None: all), and continues with others the next
        time.
        """
        oldest_ms = self._oldest_ms(now_ms)
        before = self.iids_tracked
        for pid in list(islice(self.producers, max_producers)):
            messages = self.producers.pop(pid)  # to the end of the round, if messages are left
            self.producers[pid] = messages
            old = takewhile(lambda entry_id: id_ms(entry_id) < oldest_ms, messages.values())
            self._forget(pid, sum(1 for _ in old))
        return before - self.iids_tracked

    def _oldest_ms(self, now_ms: int) -> int:
        """The age limit, as the milliseconds of an entry's ID."""
        return now_ms - self.duration_s * 1000

    def current(self, now_ms: int) -> dict[bytes, dict[bytes, EntryID]]:
        """pid -> iid -> entry, oldest first, without expired messages; removes nothing."""
        oldest_ms = self._oldest_ms(now_ms)
        current: dict[bytes, dict[bytes, EntryID]] = {}
        for pid, messages in self.producers.items():
            kept = dict(dropwhile(lambda message: id_ms(message[1]) < oldest_ms, messages.items()))
            if kept:
                current[pid] = kept
        return current

    def load(self, pid: bytes, messages: dict[bytes, EntryID]) -> None:
        """Remember a new producer's messages (from a snapshot), oldest first: at least one."""
        self.producers[pid] = messages
        self.iids_tracked += len(messages)
        self._messages_bytes += _producer_bytes(pid, messages) + sum(map(allocated_bytes, messages))

    def configure(self, duration_s: int | None = None, maxsize: int | None = None) -> bool:
        """Change the limits; None leaves one unchanged. True if one is different now.

        Then all messages are removed, as in Redis; the counters stay.
        """
        limits = (
            self.duration_s if duration_s is None else duration_s,
            self.maxsize if maxsize is None else maxsize,
        )
        if limits == (self.duration_s, self.maxsize):
            return False
        self.duration_s, self.maxsize = limits
        self.producers.clear()
        self.iids_tracked = self._messages_bytes = 0
        return True

    def _forget(self, pid: bytes, count: int) -> None:
        """Remove the oldest messages of a producer, and the producer with the last of them."""
        messages = self.producers[pid]
        for iid in list(islice(messages, count)):
            del messages[iid]
            self._messages_bytes -= allocated_bytes(iid)
        self.iids_tracked -= count
        if not messages:
            del self.producers[pid]
            self._messages_bytes -= _producer_bytes(pid, messages)

    def copy(self) -> Idempotence:
        """An independent copy."""
        twin = Idempotence(self.duration_s, self.maxsize)
        for pid, messages in self.producers.items():
            twin.load(pid, messages.copy())
        twin.added = self.added
        twin.duplicates = self.duplicates
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        size = _OWN_BYTES + allocated_bytes(self.producers)
        return size + self._messages_bytes + self.iids_tracked * _ID_BYTES


_OWN_BYTES = instance_bytes(Idempotence)


def _producer_bytes(pid: bytes, messages: dict[bytes, EntryID]) -> int:
    """The memory of a producer in bytes, without its messages."""
    return allocated_bytes(pid) + allocated_bytes(messages)


def automatic_iid(fields: list[bytes]) -> bytes:
    """A message ID derived from the content: 16 bytes (IDMPAUTO).

    `fields` is flat: field, value, field, value... The order of the pairs does not matter, but the
    number of times that each occurs does: their hashes are combined by sum and by exclusive or.
    """
    total = combined = 0
    for field, value in zip(fields[::2], fields[1::2], strict=True):
        # The length of the field distinguishes ("ab", "c") from ("a", "bc").
        pair = xxhash.xxh3_128_intdigest(b"%d:%b%b" % (len(field), field, value))
        total += pair
        combined ^= pair
    sums = b"%x:%x" % (total % 2**HASH_BITS, combined)
    return xxhash.xxh3_128_digest(sums)
