# The C types of protocol/cutter.py.

from protocol.request cimport Request, unparsed
from protocol.slots cimport slot_of_part


cdef Py_ssize_t _MAX_WORDS
cdef Py_ssize_t _MAX_DIGITS


cdef class Cutter(Request):
    cdef public bytes data
    cdef public Py_ssize_t position
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef Py_ssize_t _starts[256]
    cdef Py_ssize_t _lengths[256]

    cpdef load(self, bytes data)
    cpdef bint next(self)
    cdef Py_ssize_t _bulk_start(self, Py_ssize_t index)
