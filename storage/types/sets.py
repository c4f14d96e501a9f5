"""Sets: distinct members, in one of the three forms that Redis names.

intset      only integers, and not too many of them; read in ascending order
listpack    few members, all of them short; read in the order in which they were added
hashtable   anything; read in no promised order

The members are the records of a packed table, whatever the form. The form is a flag: OBJECT
ENCODING reports it, and it determines the order, the steps of SSCAN and the encoding in a snapshot.
It only changes from smaller to larger forms; methods that may change it take the limits
(storage/redis_format/encoding_limits.py).

Leaves out: empty sets; commands remove the key.

Source: Redis 7.2 and later for the conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import cython

from storage.keyspace.deferred_free import NO_WASTE, SMALL_ITEMS, RemovedData
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.members.key_part import MEMBERS
from storage.types.members.packed_table import PackedTable
from storage.types.sample import distinct_numbers
from storage.types.value import as_int64

INTSET = b"intset"
LISTPACK = b"listpack"
HASHTABLE = b"hashtable"

# A sample of fewer than one in this number is drawn with retries until enough are different.
_FEW_OF = 4

# The number of members that are copied or written in about 0.1 ms.
MEMBERS_PER_STEP = 1000


@cython.cclass
class SetValue(PackedTable):
    """The value of a key of type set."""

    __slots__ = ("_encoding",)

    type_name = b"set"

    def __init__(self, access_ms: int = 0, encoding: bytes = INTSET) -> None:
        super().__init__(MEMBERS, access_ms)
        self._set_encoding(encoding)

    @cython.cfunc
    def _set_encoding(self, encoding: bytes) -> None:
        self._encoding = encoding
        self.is_ordered = encoding is not HASHTABLE

    @classmethod
    def of(cls, members: Iterable[bytes], limits: EncodingLimits, access_ms: int = 0) -> SetValue:
        """A set of these members, in the smallest possible form."""
        made: SetValue = cls(access_ms)
        texts = members if isinstance(members, list) else list(members)
        small: cython.Py_ssize_t = max(
            limits.set_max_intset_entries, limits.set_max_listpack_entries
        )
        is_small: cython.bint = len(texts) <= small
        if not is_small:
            made._set_encoding(HASHTABLE)
            made.expect_records(len(texts))
        member: bytes
        for member in texts:
            made.put(member, b"")
        if is_small:
            made._set_encoding(_smallest_encoding(made.all_records(), limits))
        return made

    @classmethod
    def sized(
        cls, first: bytes, expected: int, limits: EncodingLimits, access_ms: int = 0
    ) -> SetValue:
        """An empty set in the form that suits its `first` member and how many are `expected`."""
        if expected <= limits.set_max_intset_entries and as_int64(first) is not None:
            return cls(access_ms, INTSET)
        is_small = expected <= limits.set_max_listpack_entries
        return cls(access_ms, LISTPACK if is_small else HASHTABLE)

    @property
    def encoding(self) -> bytes:
        """intset, listpack or hashtable."""
        return self._encoding

    @property
    def size(self) -> int:
        """The number of members."""
        return self._count

    @property
    def effort(self) -> int:
        """The time to copy or write the set, in steps of about 0.1 ms."""
        return 1 + self._count // MEMBERS_PER_STEP

    def members(self) -> list[bytes]:
        """All members in the order in which Redis would return them."""
        return self._sorted(self.all_records())

    def __iter__(self) -> Iterator[bytes]:
        """The members in the same order, as long as the set does not change."""
        if self._encoding is INTSET:
            return iter(self.members())
        return chain.from_iterable(self.batches())

    def members_in(self, others: list[SetValue], limit: int) -> list[bytes]:
        """Up to `limit` of the members that all others have, too."""
        return self._sorted(self.filtered(others, True, limit))

    def members_outside(self, others: list[SetValue], limit: int) -> list[bytes]:
        """Up to `limit` of the members that none of the others has."""
        return self._sorted(self.filtered(others, False, limit))

    def _sorted(self, members: list[bytes]) -> list[bytes]:
        """The members in the order in which Redis would return them."""
        if self._encoding is INTSET:
            members.sort(key=int)
        return members

    # -- changing ------------------------------------------------------------------------------

    def expect(self, count: cython.Py_ssize_t, limits: EncodingLimits) -> None:
        """Prepare for `count` more members: convert to the large form if they need it."""
        if (self._encoding == LISTPACK and count > limits.set_max_listpack_entries) or (
            self._encoding == INTSET and count > limits.set_max_intset_entries
        ):
            self._set_encoding(HASHTABLE)

    def add(self, member: bytes, limits: EncodingLimits) -> bool:
        """Add a member; False if it was there already."""
        if not self.put(member, b""):
            return False
        if self.is_ordered:  # it is no hashtable yet
            self._adapt_to(member, limits)
        return True

    @cython.cfunc
    def _adapt_to(self, member: bytes, limits: EncodingLimits) -> None:
        """Choose the form of a small set after a new member."""
        count: cython.Py_ssize_t = self._count
        longest: cython.Py_ssize_t
        if self._encoding is LISTPACK:  # the others are short enough already
            longest = len(member)
        elif as_int64(member) is not None:
            if count > limits.set_max_intset_entries:
                self._set_encoding(HASHTABLE)
            return
        else:
            longest = max(map(len, self.all_records()))
        if count > limits.set_max_listpack_entries or longest > limits.set_max_listpack_value:
            self._set_encoding(HASHTABLE)
        elif self._encoding is INTSET:
            self._set_encoding(LISTPACK)
            # A listpack begins with the integers in ascending order.
            integers = sorted(self.all_records()[:-1], key=int)
            for other in [*integers, member]:
                self.discard(other)
                self.put(other, b"")

    def remove(self, member: bytes) -> bool:
        """Remove a member; False if it was not there."""
        return self.discard(member)

    # -- picking and walking -------------------------------------------------------------------

    def sample(self, count: int, below: Callable[[int], int]) -> list[bytes]:
        """`count` different members, no more than there are, chosen with `below`."""
        size = self._count
        if self._encoding is HASHTABLE and count < size // _FEW_OF:
            chosen: dict[bytes, bool] = {}
            while len(chosen) < count:
                chosen[self.pick(below)] = True
            return list(chosen)
        members = self.members()
        return [members[position] for position in distinct_numbers(count, size, below)]

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of SSCAN: (next cursor, members). The small forms are returned whole."""
        if self._encoding is HASHTABLE:
            return self.scan_records(cursor, count)
        return 0, self.members()

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> SetValue:
        """An independent set with the same members, form and access time."""
        twin = SetValue(self.access_ms, self._encoding)
        self.share_with(twin)
        return twin

    def release(self) -> RemovedData:
        """Give up the members when the set is removed; the data to free."""
        if self._count <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        self.release_records(removed_data)
        return removed_data


def _smallest_encoding(members: list[bytes], limits: EncodingLimits) -> bytes:
    count = len(members)
    if count <= limits.set_max_intset_entries and None not in map(as_int64, members):
        return INTSET
    if count <= limits.set_max_listpack_entries:
        longest = max(map(len, members), default=0)
        if longest <= limits.set_max_listpack_value:
            return LISTPACK
    return HASHTABLE
