# The C types of storage/entries/id_columns.py.

from cpython.array cimport array

from storage.entries.entry_id cimport id_ms, make_id


cdef class NodeIDs:
    cdef public Py_ssize_t count

    cpdef object at(self, object key, Py_ssize_t place)
    cpdef Py_ssize_t place(self, object key, object entry_id)
    cpdef list between(self, object key, Py_ssize_t low, Py_ssize_t high)


cdef class IDProgression(NodeIDs):
    cdef readonly object step
    cdef object _offset


cdef class IDColumns(NodeIDs):
    cdef object _ms
    cdef object _seq


cdef inline unsigned long long* pointer_to(object numbers):
    """The numbers of an array."""
    return (<array> numbers).data.as_ulonglongs


cdef unsigned long long* numbers_of(object numbers)
cdef bint _is_run(
    unsigned long long* numbers, Py_ssize_t first, Py_ssize_t count, unsigned long long step
)
cdef object _column_of(
    unsigned long long* numbers, Py_ssize_t first, Py_ssize_t count, unsigned long long base
)
