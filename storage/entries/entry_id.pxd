# The C types of storage/entries/entry_id.py.

cimport cython

cdef extern from *:
    ctypedef unsigned long long entry_id_t "unsigned __int128"


cdef unsigned long long _LAST_SEQ
cdef Py_ssize_t _PLAIN_DIGITS
cdef PlainID _PLAIN_ID


cdef class PlainID:
    cdef readonly unsigned long long ms
    cdef readonly unsigned long long seq

    cpdef bint read(self, bytes text)


cpdef object parse_plain_id(bytes text)
@cython.locals(entry_id=entry_id_t)
cpdef entry_id_t make_id(unsigned long long ms, unsigned long long seq) noexcept
cpdef unsigned long long id_ms(entry_id_t entry_id) noexcept
cpdef unsigned long long id_seq(entry_id_t entry_id) noexcept
