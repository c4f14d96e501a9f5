# The C types of protocol/cutter.py.

cdef Py_ssize_t _MAX_WORDS
cdef Py_ssize_t _MAX_DIGITS


cdef class Cutter:
    cdef public bytes data
    cdef public Py_ssize_t position
    cdef public Py_ssize_t count
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef Py_ssize_t _starts[256]
    cdef Py_ssize_t _lengths[256]

    cpdef load(self, bytes data)
    cpdef bint next(self)
    cpdef bytes word(self, Py_ssize_t index)
    cpdef list words(self)
    cpdef Py_ssize_t words_bytes(self)
    cpdef bytes head(self, Py_ssize_t index)
    cpdef bytes tail(self, Py_ssize_t index)
    cpdef bytes part(self, Py_ssize_t index, Py_ssize_t end)
    cpdef bytes whole(self)
    cpdef bint is_word(self, Py_ssize_t index, bytes text)
    cpdef bint is_byte(self, Py_ssize_t index, int byte)
    cdef Py_ssize_t _bulk_start(self, Py_ssize_t index)
