# The C types of storage/types/sets.py.

from storage.types.value cimport Value


cdef class SetValue(Value):
    cdef public bytes _encoding
    cdef public dict _members
    cdef object _order

    cpdef expect(self, Py_ssize_t count, object limits)
    cpdef bint add(self, bytes member, object limits) except -1
    cdef bytes _encoding_with(self, bytes member, object limits)
