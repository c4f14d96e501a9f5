# The C types of storage/entries/entry_id.py.

from cpython.long cimport PyLong_AsUnsignedLongLongMask


cdef Py_ssize_t _PLAIN_DIGITS
cdef PlainID _PLAIN_ID


cdef class PlainID:
    cdef readonly unsigned long long ms
    cdef readonly unsigned long long seq

    cpdef bint read(self, bytes text)


cpdef object parse_plain_id(bytes text)
cpdef object make_id(unsigned long long ms, unsigned long long seq)
cpdef unsigned long long id_ms(object entry_id)
cpdef unsigned long long id_seq(object entry_id)
