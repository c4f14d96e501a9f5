"""Sorted sets: distinct members ordered by score, then by their bytes.

A dict from member to score, and a sorted list of (score, member) pairs; both exist whatever OBJECT
ENCODING reports. The encoding is `listpack` for few, short members and `skiplist` for all others.
It only changes from the smaller to the larger one.

A span is a pair of ranks, [start, end). Ranges of ranks, scores or members are converted to spans:

    start, end = zset.span_of_scores(bounds)
    zset.slice(start, end)

Ranks, spans and slices take O(log n), plus the length of what is returned.

Guarantees: no score is NaN.

Leaves out: empty sorted sets (commands remove the key); the parsing of ranges
(commands/sorted_sets/bounds.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from sys import getsizeof
from typing import Any, TypeAlias

import cython
from sortedcontainers import SortedList

from protocol.records import frozen_record
from storage.keyspace.deferred_free import NO_WASTE, SMALL_ITEMS, RemovedData
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.scan_order import ScanOrder
from storage.types.value import Value

LISTPACK = b"listpack"
SKIPLIST = b"skiplist"

Pair: TypeAlias = "tuple[float, bytes]"  # (score, member)
Span: TypeAlias = "tuple[int, int]"  # [start, end) of ranks

_SCORE = itemgetter(0)

# The number of members that are copied or written in about 0.1 ms.
MEMBERS_PER_STEP = 200

# A part of the sorted list begins with this many pairs, and grows to twice as many: one is freed
# per step.
PART_PAIRS = SortedList.DEFAULT_LOAD_FACTOR
PARTS_PER_STEP = 1

# Up to this many members are removed one by one, and freed at once.
FEW_REMOVED = 100


class _AboveAll:
    """Greater than every member."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return True


ABOVE_ALL: Any = _AboveAll()


@frozen_record
class ScoreBounds:
    """A range of scores."""

    low: float
    high: float
    excludes_low: bool = False
    excludes_high: bool = False

    @property
    def is_empty(self) -> bool:
        """True if no score can be within it."""
        is_open = self.excludes_low or self.excludes_high
        return self.low > self.high or (self.low == self.high and is_open)


@frozen_record
class LexBounds:
    """A range of members by their bytes. None: without a bound at that end."""

    low: bytes | None
    high: bytes | None
    excludes_low: bool = False
    excludes_high: bool = False
    is_empty: bool = False

    def reaches(self, member: bytes) -> bool:
        """Return True if `member` is not before the lower end."""
        if self.low is None:
            return True
        return member > self.low if self.excludes_low else member >= self.low

    def passes(self, member: bytes) -> bool:
        """Return True if `member` is after the upper end."""
        if self.high is None:
            return False
        return member >= self.high if self.excludes_high else member > self.high


@cython.cclass
class SortedSetValue(Value):
    """The value of a key of type zset."""

    __slots__ = ("_encoding", "_order", "_scan_order", "_scores")

    type_name = b"zset"

    def __init__(self, access_ms: int = 0, encoding: bytes = LISTPACK) -> None:
        super().__init__(access_ms)
        self._encoding = encoding
        self._scores: dict[bytes, float] = {}
        self._order: SortedList[Any] = SortedList()
        self._scan_order: ScanOrder | None = None

    @classmethod
    def of(
        cls, scores: dict[bytes, float], limits: EncodingLimits, access_ms: int = 0
    ) -> SortedSetValue:
        """A sorted set that takes over the dict `scores`, in the smallest possible form."""
        longest = max(map(len, scores), default=0)
        is_small = _is_small(len(scores), longest, limits)
        made = cls(access_ms, LISTPACK if is_small else SKIPLIST)
        if is_small:
            scores = {member: _without_sign(score) for member, score in scores.items()}
        made._scores = scores
        pairs = list(zip(scores.values(), scores, strict=True))
        # Numbers are compared in half the time of pairs, and leave little to do for the members.
        pairs.sort(key=_SCORE)
        pairs.sort()
        made._order = _in_parts(pairs)
        return made

    @classmethod
    def of_pairs(
        cls, pairs: list[Pair], limits: EncodingLimits, access_ms: int = 0
    ) -> SortedSetValue:
        """A sorted set of pairs with different members, in the smallest possible form.

        It takes over the list, which need not be sorted; sorted runs in it cost little.
        """
        if len(pairs) <= limits.zset_max_listpack_entries:
            return cls.of({member: score for score, member in pairs}, limits, access_ms)
        pairs.sort()
        made = cls(access_ms, SKIPLIST)
        made._scores = _scores_of(pairs)
        made._order = _in_parts(pairs)
        return made

    @classmethod
    def sized(
        cls, expected: int, first_bytes: int, limits: EncodingLimits, access_ms: int = 0
    ) -> SortedSetValue:
        """An empty sorted set in the form for `expected` members, the first of `first_bytes`
        bytes.
        """
        is_small = _is_small(expected, first_bytes, limits)
        return cls(access_ms, LISTPACK if is_small else SKIPLIST)

    def __len__(self) -> int:
        return len(self._scores)

    def __contains__(self, member: bytes) -> bool:
        return member in self._scores

    @property
    def encoding(self) -> bytes:
        """listpack or skiplist."""
        return self._encoding

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self._scores)

    @property
    def effort(self) -> int:
        """The time to copy or write the sorted set, in steps of about 0.1 ms."""
        return 1 + len(self._scores) // MEMBERS_PER_STEP

    # -- reading -------------------------------------------------------------------------------

    def score(self, member: bytes) -> float | None:
        """The score of a member, None if it is not there."""
        return self._scores.get(member)

    def scores(self) -> Mapping[bytes, float]:
        """The scores of all members, in no promised order."""
        return self._scores

    def rank(self, member: bytes) -> int | None:
        """Return the number of members before `member`; None if it is not in the set."""
        score = self._scores.get(member)
        return None if score is None else self._order.bisect_left((score, member))

    def at(self, rank: int) -> Pair:
        """The (score, member) at a rank."""
        pair: Pair = self._order[rank]
        return pair

    def slice(self, start: int, end: int, *, reverse: bool = False) -> Iterator[Pair]:
        """The (score, member) pairs of a span; `reverse`: from its end to its start."""
        pairs: Iterator[Pair] = self._order.islice(start, end, reverse=reverse)
        return pairs

    def pairs(self, start: int, end: int) -> list[Pair]:
        """The (score, member) pairs of a span, in a list of their own: faster than a slice."""
        if start >= end:
            return []
        parts = _parts(self._order)
        first, low = _position(self._order, start)
        last, high = _position(self._order, end - 1)
        if first == last:
            return parts[first][low : high + 1]
        found = parts[first][low:]
        for part in parts[first + 1 : last]:
            found += part
        return found + parts[last][: high + 1]

    def span_of_scores(self, bounds: ScoreBounds) -> Span:
        """The ranks of the members whose scores are within the bounds."""
        if bounds.is_empty:
            return 0, 0
        low = (bounds.low, ABOVE_ALL) if bounds.excludes_low else (bounds.low,)
        high = (bounds.high,) if bounds.excludes_high else (bounds.high, ABOVE_ALL)
        return self._order.bisect_left(low), self._order.bisect_left(high)

    def span_of_members(self, bounds: LexBounds) -> Span:
        """The ranks of the members within the bounds; defined only where all scores are equal."""
        if bounds.is_empty:
            return 0, 0
        start = self._first_rank(bounds.reaches)
        return start, max(start, self._first_rank(bounds.passes))

    def _first_rank(self, holds: Callable[[bytes], bool]) -> int:
        """The rank of the first member for which `holds` is true; it must be true for all after
        it.
        """
        start, end = 0, len(self._order)
        while start < end:
            middle = (start + end) // 2
            if holds(self._order[middle][1]):
                end = middle
            else:
                start = middle + 1
        return start

    # -- changing ------------------------------------------------------------------------------

    def expect(self, count: cython.Py_ssize_t, limits: EncodingLimits) -> None:
        """Prepare for `count` more members: convert to the large form if they need it."""
        if count > limits.zset_max_listpack_entries:
            self._encoding = SKIPLIST

    def become_skiplist(self) -> None:
        """Convert to the large form (SORT)."""
        self._encoding = SKIPLIST

    def set(self, member: bytes, score: cython.double, limits: EncodingLimits) -> None:
        """Give `member` a score; it is added if it is not there."""
        old = self._scores.get(member)
        if old is not None:
            self._order.remove((old, member))
        else:
            if self._encoding == LISTPACK and not _is_small(
                len(self._scores) + 1, len(member), limits
            ):
                self._encoding = SKIPLIST
            if self._scan_order is not None:
                self._scan_order.add(member)
        if self._encoding == LISTPACK:
            score = _without_sign(score)
        self._scores[member] = score
        self._order.add((score, member))

    def remove(self, member: bytes) -> bool:
        """Remove a member; False if it was not there."""
        score = self._scores.pop(member, None)
        if score is None:
            return False
        self._order.remove((score, member))
        if self._scan_order is not None:
            self._scan_order.remove(member)
        return True

    def remove_span(self, start: int, end: int) -> RemovedData:
        """Remove the members at these ranks; the data to free."""
        gone = list(self._order.islice(start, end))
        is_few = len(gone) <= FEW_REMOVED
        if is_few:
            del self._order[start:end]
        else:
            self._order = _without(self._order, start, end)
        removed = NO_WASTE if is_few else RemovedData()
        if is_few or 2 * len(gone) < len(self._scores):
            for _, member in gone:
                del self._scores[member]
                if self._scan_order is not None:
                    self._scan_order.remove(member)
        else:
            removed.add(self._scores, SMALL_ITEMS)
            self._scores = {member: score for score, member in self._order}
            if self._scan_order is not None:
                self._scan_order.keep(self._scores)
        if not is_few:
            removed.add(gone, SMALL_ITEMS)
        return removed

    # -- walking -------------------------------------------------------------------------------

    def scan(self, cursor: int, count: int) -> tuple[int, list[Pair]]:
        """One step of ZSCAN: (next cursor, pairs). The small form is returned whole."""
        if self._encoding == LISTPACK:
            return 0, list(self._order)
        if self._scan_order is None:
            self._scan_order = ScanOrder(self._scores)
        following, members = self._scan_order.scan(cursor, count)
        return following, [(self._scores[member], member) for member in members]

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> SortedSetValue:
        """An independent sorted set with the same members, form and access time."""
        twin = SortedSetValue(self.access_ms, self._encoding)
        twin._scores = self._scores.copy()
        twin._order = _copied(self._order)
        return twin

    def copy_of_span(self, start: int, end: int, limits: EncodingLimits) -> SortedSetValue:
        """Another sorted set of the members at these ranks, in the smallest possible form."""
        count = len(self._scores)
        if end - start <= limits.zset_max_listpack_entries or 2 * (end - start) < count:
            return SortedSetValue.of_pairs(self.pairs(start, end), limits)
        twin = self.copy()  # a table is copied faster than it is made from pairs
        twin._encoding = SKIPLIST
        twin.remove_span(end, count)
        twin.remove_span(0, start)
        return twin

    def memory_bytes(self, samples: int = 5) -> int:
        """An estimate of its memory in bytes, from `samples` members (0: from all)."""
        count = len(self._scores)
        sampled: Iterable[Pair] = self._order.islice(0, samples or count)
        measured = [getsizeof(member) + _PAIR_BYTES for _, member in sampled]
        total = getsizeof(self) + getsizeof(self._scores) + _ORDER_BYTES
        if measured:
            total += sum(measured) * count // len(measured)
        if self._scan_order is not None:
            total += self._scan_order.memory_bytes()
        return total

    def release(self) -> RemovedData:
        """Give up the members when the sorted set is removed; the data to free."""
        if len(self._scores) <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        removed_data.add(_parts(self._order), PARTS_PER_STEP)
        removed_data.add(self._scores, SMALL_ITEMS)
        if self._scan_order is not None:
            self._scan_order.release(removed_data)
        self._order, self._scores, self._scan_order = SortedList(), {}, None
        return removed_data


# A pair with its score and its place in the list; an empty sorted list.
_PAIR_BYTES = getsizeof((0.0, b"")) + getsizeof(0.5) + 8
_ORDER_BYTES = 305


def _parts(order: SortedList[Any]) -> list[list[Pair]]:
    """The private parts of a sorted list. Its public methods copy and free them only as a whole,
    and sort again what is in order.
    """
    parts: list[list[Pair]] = order._lists  # type: ignore[attr-defined]
    return parts


def _position(order: SortedList[Any], rank: int) -> tuple[int, int]:
    """The part that holds a rank, and the place of the rank in the part."""
    position: tuple[int, int] = order._pos(rank)  # type: ignore[attr-defined]
    return position


def _scores_of(pairs: list[Pair]) -> dict[bytes, float]:
    """The score of each member."""
    if not cython.compiled:
        return {member: score for score, member in pairs}
    scores: dict[bytes, float] = {}
    place: cython.Py_ssize_t
    for place in range(len(pairs)):
        prefetch(pairs, place, 1)  # type: ignore[name-defined]  # noqa: F821
        pair: tuple[float, bytes] = pairs[place]
        scores[pair[1]] = pair[0]
    return scores


def _of_parts(parts: list[list[Pair]], count: int) -> SortedList[Any]:
    """A sorted list of these parts, `count` pairs in all."""
    made: SortedList[Any] = SortedList()
    made._lists = parts  # type: ignore[attr-defined]
    made._maxes = [part[-1] for part in parts]  # type: ignore[attr-defined]
    made._len = count  # type: ignore[attr-defined]
    return made


def _in_parts(pairs: list[Pair]) -> SortedList[Any]:
    """A sorted list of pairs that are in order."""
    starts = range(0, len(pairs), PART_PAIRS)
    return _of_parts([pairs[start : start + PART_PAIRS] for start in starts], len(pairs))


def _without(order: SortedList[Any], start: int, end: int) -> SortedList[Any]:
    """The sorted list without a span, part by part. It takes over the parts."""
    kept: list[list[Pair]] = []
    place = 0  # the rank of a part's first pair
    for part in _parts(order):
        low, high = max(start - place, 0), min(end - place, len(part))
        place += len(part)
        if low < high:
            part = part[:low] + part[high:]
        if part:
            kept.append(part)
    return _of_parts(kept, len(order) - (end - start))


def _copied(order: SortedList[Any]) -> SortedList[Any]:
    """A copy made part by part."""
    return _of_parts([part.copy() for part in _parts(order)], len(order))


def _without_sign(score: float) -> float:
    """The score as a listpack stores it: -0 becomes 0, because whole numbers are integers."""
    return score + 0.0


def _is_small(count: int, longest: int, limits: EncodingLimits) -> bool:
    return count <= limits.zset_max_listpack_entries and longest <= limits.zset_max_listpack_value
