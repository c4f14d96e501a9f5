# The C types of protocol/requests.py.

from protocol.request cimport Cutter, Request, of_words


cdef int _ASTERISK
cdef int _DOLLAR
cdef Py_ssize_t _UNFINISHED_BYTES
cdef Py_ssize_t _PIECE_BYTES
cdef Py_ssize_t _FEW_BLANKS


cdef class RequestReader:
    cdef public object limits
    cdef public bint authenticated
    cdef public object error
    cdef public bint overflowed
    cdef public bytearray unread
    cdef public Py_ssize_t max_buffer_bytes
    cdef Cutter _cutter
    cdef bint _is_over
    cdef bint _is_cut
    cdef bytes _data
    cdef Py_ssize_t _position
    cdef list _argv
    cdef Py_ssize_t _count
    cdef Py_ssize_t _taken_bytes
    cdef bytearray _held
    cdef object _bulk
    cdef Py_ssize_t _bulk_bytes
    cdef Py_ssize_t _missing_bytes
    cdef bytes _unfinished
    cdef Py_ssize_t _harmless_bytes

    cpdef feed(self, bytes data)
    cpdef hold(self, bytes data)
    cpdef bint next_piece(self)
    cdef _begin(self, bytes data)
    cpdef start(self)
    cpdef stop(self)
    cpdef bytes rest(self)
    cpdef Py_ssize_t unread_bytes(self)
    cpdef Py_ssize_t buffered_bytes(self)
    cpdef bint is_between(self)
    cpdef Request next(self)
    cdef Request _scan_next(self)
    cdef list _scan(self)
    cdef list _scan_inline(self)
    cdef bint _scan_array_header(self)
    cdef bint _scan_bulks(self, Py_ssize_t start)
    cdef Py_ssize_t _bulk_length(self, Py_ssize_t position, Py_ssize_t line_end)
    cdef Py_ssize_t _find_line_end(self, bytes mark, str refusal)
    cdef bint _continue_line(self)
    cdef bint _add_to_bulk(self)
    cdef bint _fail(self, str error)
    cdef bint _give_up(self)
    cdef _forget(self)
