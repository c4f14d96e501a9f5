# The C types of storage/keyspace/deadlines.py.

from cpython.array cimport array

from storage.keyspace.ordered_index cimport Chance
from storage.memory cimport array_bytes
from storage.types.key_part cimport slots_of


cdef long _NO_DEADLINE
cdef Py_ssize_t _LEAST_GROWTH
cdef Py_ssize_t _FEW_SLOTS
cdef long _OWN_BYTES


cdef inline long* times_of(array numbers) noexcept:
    return numbers.data.as_longs


cdef class Deadlines:
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t _used
    cdef unsigned int _free
    cdef array _times
    cdef array _serials
    cdef array _places
    cdef array _heap

    cdef _clear(self)
    cpdef long at(self, unsigned int slot) noexcept
    cpdef unsigned int add(self, long when_ms, long serial) except 0
    cpdef move(self, unsigned int slot, long when_ms)
    cpdef drop(self, unsigned int slot)
    cdef _grow(self)
    cdef bint _is_before(self, unsigned int one, unsigned int other) noexcept
    cdef void _rise(self, unsigned int slot, Py_ssize_t place) noexcept
    cdef void _sink(self, unsigned int slot, Py_ssize_t place) noexcept
