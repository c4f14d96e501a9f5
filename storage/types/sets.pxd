# The C types of storage/types/sets.py.

from storage.types.members.packed_table cimport PackedTable


cdef class SetValue(PackedTable):
    cdef public bytes _encoding

    cdef _set_encoding(self, bytes encoding)
    cdef list _sorted(self, list[bytes] members)
    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef bint add(self, bytes member, object limits) except -1
    cpdef bint remove(self, bytes member) except -1
    cdef _adapt_to(self, bytes member, object limits)
