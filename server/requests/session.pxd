# The C types of server/requests/session.py.

from commands.connection.client_memory cimport output_room_bytes
from commands.core.client cimport Client
from commands.core.stats cimport Stats
from protocol.cutter cimport Cutter
from server.requests.dispatch cimport Dispatcher
from server.requests.turns cimport Turns


cdef Py_ssize_t _PIECE_BYTES
cdef Py_ssize_t _LINES_BYTES
cdef Py_ssize_t _UNFINISHED_BYTES
cdef int _ASTERISK
cdef long _AUTH
cdef long _REPLICA


cdef class Session:
    cdef public Client client
    cdef public Dispatcher dispatcher
    cdef public Turns turns
    cdef public object reader
    cdef public object backlog
    cdef public bytearray unread
    cdef public bytes unfinished
    cdef public Py_ssize_t burst_bytes
    cdef bint _is_between
    cdef Py_ssize_t _harmless_bytes
    cdef Py_ssize_t _max_buffer_bytes

    cpdef receive(self, bytes data)
    cdef _read(self, bytes data)
    cdef Py_ssize_t _piece_bytes(self, object data)
    cdef _run_each(self, list requests)
    cdef Py_ssize_t _run_cut(self, bytes data)
    cdef _count_batch(self, Py_ssize_t requests)
    cpdef _check_reader(self)
