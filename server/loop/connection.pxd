# The C types of server/loop/connection.py.

from commands.connection.client_memory cimport is_unlimited
from commands.connection.client_memory cimport ClientMemory
from commands.core.client cimport Client
from commands.core.instance cimport Instance, Stats
from protocol cimport replies
from server.requests.dispatch cimport Dispatcher
from server.loop.cycle cimport EventLoopCycle
from server.requests.session cimport Session
from server.requests.waiters cimport ClientQueues
from server.requests.command_clock cimport CommandClock


cdef Py_ssize_t _LONG_READ_BYTES
cdef Py_ssize_t _PART_BYTES
cdef long _READ_NS
cdef long _BYTE_NS
cdef long _AUTH
cdef int _YIELDED
cdef int _CLOSING
cdef int _CLOSED


cdef class Connection:
    cdef object __weakref__
    cdef public bint unix_socket
    cdef public bytes local_address
    cdef public int fd
    cdef public object transport
    cdef public Client client
    cdef public Session session
    cdef public long over_soft_limit_since_ms
    cdef EventLoopCycle _cycle
    cdef Dispatcher _dispatcher
    cdef ClientQueues _queues
    cdef ClientMemory _memory
    cdef Stats _stats
    cdef Instance _instance
    cdef object _loop
    cdef object _on_room
    cdef object _closings
    cdef bint _is_paused
    cdef bint _is_held
    cdef bint _is_stranger

    cpdef write(self)
    cdef _after_stranger(self, Py_ssize_t size)
