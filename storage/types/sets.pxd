# The C types of storage/types/sets.py.

from storage.types.members.record_table cimport RecordTable
from storage.types.value cimport Value


cdef class SetValue(Value):
    cdef public bytes _encoding
    cdef RecordTable _table

    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef bint has(self, bytes member) except -1
    cpdef bint add(self, bytes member, object limits) except -1
    cpdef bint remove(self, bytes member) except -1
    cdef _adapt_to(self, bytes member, object limits)


cdef RecordTable _table_of(object members)
