# The C types of protocol/request.py.

from protocol.slots cimport key_slot


cdef Py_ssize_t _QUICK_BYTES


cdef class Request:
    cdef list _words
    cdef bytes _wire
    cdef public Py_ssize_t count
    cdef public bint is_quick

    cpdef list words(self)
    cdef list _cut(self)
    cpdef bytes word(self, Py_ssize_t index)
    cpdef unsigned int slot(self, Py_ssize_t index) except? 0xFFFFFFFF
    cpdef bint is_word(self, Py_ssize_t index, bytes text)
    cpdef bint is_byte(self, Py_ssize_t index, int byte)
    cpdef Py_ssize_t words_bytes(self)
    cpdef bytes head(self, Py_ssize_t index)
    cpdef bytes tail(self, Py_ssize_t index)
    cpdef bytes part(self, Py_ssize_t index, Py_ssize_t end)
    cpdef bytes whole(self)
    cpdef object identity(self)
    cpdef mark_quick(self, Py_ssize_t size_bytes)
    cpdef Request keep(self)
    cpdef bytes wire(self)


cpdef Request unparsed(bytes wire, Py_ssize_t count)
cpdef Request of_words(list words)
