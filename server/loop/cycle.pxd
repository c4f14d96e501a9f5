# The C types of server/loop/cycle.py.

from commands.core.client cimport Client
from server.requests.dispatch cimport Dispatcher
from server.requests.waiters cimport ClientQueues
from server.requests.command_clock cimport CommandClock


cdef int _CLOSING
cdef int _CLOSED
cdef int _YIELDED


cdef class EventLoopCycle:
    cdef public Dispatcher dispatcher
    cdef public ClientQueues queues
    cdef public dict sessions
    cdef public object strangers
    cdef public list before_output
    cdef public list after
    cdef object _schedule
    cdef object _write
    cdef public dict _with_output
    cdef bint _scheduled
    cdef bint _is_going_on
    cdef public bint is_stopped
    cdef object _end
    cdef long _flushed_units

    cpdef touch(self, Client client)
    cpdef wake(self)
    cpdef finish(self)
    cdef _schedule_end(self)
    cdef _go_on_with(self, Client client)
    cdef bint _resume_clients(self)
