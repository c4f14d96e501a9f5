# The C types of server/requests/admission.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.registry cimport Command
from commands.connection.client_memory cimport MemoryUse
from commands.transactions.transaction cimport Transaction
from protocol.request cimport Request, key_slot
from server.requests.command_clock cimport Answering
from server.requests.waiters cimport ClientQueues


cdef long _OUT_OF_MEMORY
cdef long _MULTI
cdef long _UNQUEUED
cdef long _NO_MULTI
cdef long _MOVABLE_KEYS


cdef class MemoryLimit:
    cdef Instance _instance
    cdef object _eviction
    cdef MemoryUse _memory
    cdef public bint is_behind

    cpdef check(self)


cdef class Admission:
    cdef Instance _instance
    cdef ClientQueues _queues
    cdef object _client_limit
    cdef Answering _answering
    cdef bytearray _served
    cdef object _moving
    cdef object _user_limits
    cdef object _slots

    cpdef bint admits(self, Client client, Command command, Request request)
    cpdef bint serves(self, Client client, Command command, Request request)
    cdef bint _has_keys_here(self, Command command, Request request)
    cdef _enqueue(self, Client client, Command command, Request request, long flags)
