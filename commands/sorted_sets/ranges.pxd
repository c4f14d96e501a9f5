# The C types of commands/sorted_sets/ranges.py.

from commands.core.client cimport Client
from commands.sorted_sets.bounds cimport excludes, parse_rank, parse_score, rank_span
from protocol.request cimport Request
from storage.types.sets cimport SortedSetValue


cdef int _RANKS
cdef int _SCORES
cdef int _MEMBERS
cdef int _OPEN
cdef long long _NO_LIMIT


cdef class _Range:
    cdef int _kind
    cdef int is_reverse
    cdef bint with_scores
    cdef long long _offset
    cdef long long _count
    cdef long long _first
    cdef long long _last
    cdef double _low
    cdef double _high
    cdef bint _excludes_low
    cdef bint _excludes_high
    cdef object _members

    cdef parse(self, list[bytes] words, Py_ssize_t at, bint is_stored)
    cdef _parse_options(self, list[bytes] words, Py_ssize_t at, bint is_stored)
    cdef tuple span_in(self, SortedSetValue value)


cdef object _answer(Client client, Request argv, int kind, int direction)
