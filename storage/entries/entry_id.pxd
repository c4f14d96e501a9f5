# The C types of storage/entries/entry_id.py.

cdef Py_ssize_t _PLAIN_DIGITS

from cpython.long cimport PyLong_AsUnsignedLongLongMask


cpdef object parse_plain_id(bytes text)
cpdef object make_id(unsigned long long ms, unsigned long long seq)
cpdef unsigned long long id_ms(object entry_id)
cpdef unsigned long long id_seq(object entry_id)
