# The C types of commands/sorted_sets/ranges.py.

from commands.core.client cimport Client
from commands.sorted_sets.scores cimport (
    excludes,
    limited,
    members_reply,
    parse_rank,
    parse_score,
    rank_span,
)
from protocol.request cimport Request
from storage.types.records cimport RecordTable
from storage.types.records cimport make_record, member_of, score_of
from storage.types.sets cimport SortedSetValue


cdef int _RANKS
cdef int _SCORES
cdef int _MEMBERS
cdef int _OPEN
cdef int _REVERSE
cdef long _NO_LIMIT


cdef class _Range:
    cdef int _kind
    cdef int is_reverse
    cdef bint with_scores
    cdef long _offset
    cdef long _count
    cdef long _first
    cdef long _last
    cdef double _low
    cdef double _high
    cdef bint _excludes_low
    cdef bint _excludes_high
    cdef object _members

    cdef parse(self, list[bytes] words, Py_ssize_t at, bint is_stored)
    cdef _parse_options(self, list[bytes] words, Py_ssize_t at, bint is_stored)
    cdef tuple span_in(self, SortedSetValue value)


cdef object _answer(Client client, Request argv, int kind, int direction)


cdef int _SUM
cdef int _MIN
cdef int _MAX


cdef class _Source:
    cdef SortedSetValue _scored
    cdef object _plain
    cdef readonly Py_ssize_t size
    cdef public double weight
    cdef public double found
    cdef public bint is_counted

    cpdef list records(self)
    cpdef bint find(self, bytes member) except -1
    cdef double _weighted(self, bytes record) noexcept
