# The C types of server/requests/session.py.

from commands.connection.client_memory cimport output_room_bytes, waits_for_peer
from commands.core.client cimport Client
from commands.core.instance cimport Stats
from protocol.request cimport Request
from protocol.requests cimport RequestReader
from server.requests.dispatch cimport Dispatcher
from server.requests.waiters cimport ClientQueues
from server.requests.command_clock cimport CommandClock


cdef int _READY
cdef int _BEING_ANSWERED
cdef int _ANSWER
cdef Py_ssize_t _MAX_UNSENT_BYTES
cdef Py_ssize_t _UNLIMITED_BYTES
cdef int _CLOSED
cdef long _AUTH
cdef long _REPLICA


cdef class Session:
    cdef public Client client
    cdef public Dispatcher dispatcher
    cdef public ClientQueues queues
    cdef public RequestReader reader
    cdef public Py_ssize_t burst_bytes
    cdef Py_ssize_t _refused
    cdef long _refused_since_ms
    cdef bint _is_behind
    cdef bint _holds

    cpdef receive(self, bytes data)
    cdef _receive_from_stranger(self, bytes data)
    cdef _run_as_stranger(self, Request request)
    cdef _run(self, Request request)
    cdef bint _is_refused_too_often(self)
    cdef bint _next_piece(self)
    cdef _interrupt(self)
    cdef Py_ssize_t _room_bytes(self) except? -1
    cdef _hold(self)
    cdef _count_batch(self, Py_ssize_t requests)
    cpdef _check_reader(self)
