"""Sets: distinct members, in one of the three forms that Redis names.

intset      only integers, and not too many of them; read in ascending order
listpack    few members, all of them short; read in the order in which they were added
hashtable   anything; read in no promised order

The members are in one dict, whatever the form. The form is a flag: OBJECT ENCODING reports it, and
it determines the order, the steps of SSCAN and the encoding in a snapshot. It only changes from
smaller to larger forms; methods that may change it take the limits
(storage/redis_format/encoding_limits.py).

Leaves out: empty sets; commands remove the key.

Source: Redis 7.2 and later for the conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import getsizeof

import cython

from storage.keyspace.deferred_free import NO_WASTE, SMALL_ITEMS, RemovedData
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.sample import distinct_numbers
from storage.types.scan_order import ScanOrder
from storage.types.value import Value, as_int64

INTSET = b"intset"
LISTPACK = b"listpack"
HASHTABLE = b"hashtable"

# A sample of fewer than one in this number is drawn with retries until enough are different.
_FEW_OF = 4

# The number of members that are copied or written in about 0.1 ms.
MEMBERS_PER_STEP = 1000


@cython.cclass
class SetValue(Value):
    """The value of a key of type set."""

    __slots__ = ("_encoding", "_members", "_order")

    type_name = b"set"

    def __init__(self, access_ms: int = 0, encoding: bytes = INTSET) -> None:
        super().__init__(access_ms)
        self._encoding = encoding
        self._members: dict[bytes, None] = {}
        self._order: ScanOrder | None = None

    @classmethod
    def of(cls, members: Iterable[bytes], limits: EncodingLimits, access_ms: int = 0) -> SetValue:
        """A set of these members, in the smallest possible form. A dict of them is taken over."""
        made = cls(access_ms)
        made._members = members if type(members) is dict else dict.fromkeys(members)
        made._encoding = _smallest_encoding(made._members, limits)
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

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, member: bytes) -> bool:
        return member in self._members

    @property
    def encoding(self) -> bytes:
        """intset, listpack or hashtable."""
        return self._encoding

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self._members)

    @property
    def effort(self) -> int:
        """The time to copy or write the set, in steps of about 0.1 ms."""
        return 1 + len(self._members) // MEMBERS_PER_STEP

    def members(self) -> list[bytes]:
        """All members in the order in which Redis would return them."""
        members = list(self._members)
        if self._encoding == INTSET:
            members.sort(key=int)
        return members

    def table(self) -> dict[bytes, None]:
        """The members as the keys of a dict, for set algebra. Do not modify it."""
        return self._members

    def ordered_table(self) -> dict[bytes, None]:
        """Return a table of the members in the order of `members`."""
        return dict.fromkeys(self.members()) if self._encoding == INTSET else self._members

    # -- changing ------------------------------------------------------------------------------

    def expect(self, count: cython.Py_ssize_t, limits: EncodingLimits) -> None:
        """Prepare for `count` more members: convert to the large form if they need it."""
        if (self._encoding == LISTPACK and count > limits.set_max_listpack_entries) or (
            self._encoding == INTSET and count > limits.set_max_intset_entries
        ):
            self._encoding = HASHTABLE

    def add(self, member: bytes, limits: EncodingLimits) -> bool:
        """Add a member; False if it was there already."""
        if member in self._members:
            return False
        if self._encoding != HASHTABLE:
            encoding = self._encoding_with(member, limits)
            if encoding == LISTPACK != self._encoding:
                self._members = dict.fromkeys(self.members())  # begins in ascending order
            self._encoding = encoding
        self._members[member] = None
        if self._order is not None:
            self._order.add(member)
        return True

    @cython.cfunc
    def _encoding_with(self, member: bytes, limits: EncodingLimits) -> bytes:
        """The form of the set, which is not a hashtable, once a new member is in it."""
        count = len(self._members) + 1
        if self._encoding == INTSET:
            if as_int64(member) is not None:
                return INTSET if count <= limits.set_max_intset_entries else HASHTABLE
            longest = max(map(len, self._members), default=0)
        else:
            longest = 0  # the members of a listpack are short enough already
        if count > limits.set_max_listpack_entries:
            return HASHTABLE
        is_short = max(longest, len(member)) <= limits.set_max_listpack_value
        return LISTPACK if is_short else HASHTABLE

    def remove(self, member: bytes) -> bool:
        """Remove a member; False if it was not there."""
        if member not in self._members:
            return False
        del self._members[member]
        if self._order is not None:
            self._order.remove(member)
        return True

    # -- picking and walking -------------------------------------------------------------------

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A member chosen with `below(n)`, which gives a number in [0, n)."""
        if self._encoding == HASHTABLE:
            return self._ordered().pick(below)
        return list(self._members)[below(len(self._members))]

    def sample(self, count: int, below: Callable[[int], int]) -> list[bytes]:
        """`count` different members, no more than there are, chosen with `below`."""
        size = len(self._members)
        if self._encoding == HASHTABLE and count < size // _FEW_OF:
            order = self._ordered()
            chosen: dict[bytes, None] = {}
            while len(chosen) < count:
                chosen[order.pick(below)] = None
            return list(chosen)
        members = self.members()
        return [members[position] for position in distinct_numbers(count, size, below)]

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of SSCAN: (next cursor, members). The small forms are returned whole."""
        if self._encoding == HASHTABLE:
            return self._ordered().scan(cursor, count)
        return 0, self.members()

    def _ordered(self) -> ScanOrder:
        if self._order is None:
            self._order = ScanOrder(self._members)
        return self._order

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> SetValue:
        """An independent set with the same members, form and access time."""
        twin = SetValue(self.access_ms, self._encoding)
        twin._members = self._members.copy()
        return twin

    def memory_bytes(self, samples: int = 5) -> int:
        """Return the memory of the set in bytes, estimated from `samples` members (0: from all)."""
        measured = [
            getsizeof(member)
            for member, _ in zip(self._members, range(samples or len(self._members)), strict=False)
        ]
        total = getsizeof(self) + getsizeof(self._members)
        if measured:
            total += sum(measured) * len(self._members) // len(measured)
        if self._order is not None:
            total += self._order.memory_bytes()
        return total

    def release(self) -> RemovedData:
        """Give up the members when the set is removed; the data to free."""
        if len(self._members) <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        removed_data.add(self._members, SMALL_ITEMS)
        if self._order is not None:
            self._order.release(removed_data)
        self._members, self._order = {}, None
        return removed_data


def _smallest_encoding(members: dict[bytes, None], limits: EncodingLimits) -> bytes:
    count = len(members)
    if count <= limits.set_max_intset_entries and None not in map(as_int64, members):
        return INTSET
    if count <= limits.set_max_listpack_entries:
        longest = max(map(len, members), default=0)
        if longest <= limits.set_max_listpack_value:
            return LISTPACK
    return HASHTABLE
