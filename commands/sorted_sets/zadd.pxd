# The C types of commands/sorted_sets/zadd.py.

from commands.core.client cimport Client
from commands.core.arguments cimport quick_double
from commands.sorted_sets.pairs cimport score_or_nil
from protocol.request cimport Request
from storage.types.records cimport make_record, score_of
from storage.types.sets cimport SortedSetValue


cdef class _Addition:
    cdef list scores
    cdef bint only_new
    cdef bint only_old
    cdef bint only_greater
    cdef bint only_less
    cdef bint counts_changes
    cdef bint is_increment
    cdef Py_ssize_t added
    cdef Py_ssize_t updated

    cdef bytes new_record(self, bytes member, double score, bytes former)


cdef bytes _add_one(Client client, bytes key, double score, bytes member)
cdef bytes _set_all(
    Client client, SortedSetValue value, _Addition request, list[bytes] words, Py_ssize_t at
)
