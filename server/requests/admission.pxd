# The C types of server/requests/admission.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.registry cimport Command
from commands.transactions.transaction cimport Transaction
from protocol.request cimport Request, key_slot
from server.requests.answering cimport Answering
from server.requests.client_queues cimport ClientQueues


cdef long long _MULTI
cdef long long _UNQUEUED
cdef long long _NO_MULTI
cdef long long _MOVABLE_KEYS


cdef class Admission:
    cdef Instance _instance
    cdef ClientQueues _queues
    cdef object _client_limit
    cdef Answering _answering
    cdef bytearray _served
    cdef object _moving
    cdef object _slots

    cpdef bint admits(self, Client client, Command command, Request request)
    cpdef bint serves(self, Client client, Command command, Request request)
    cdef bint _has_keys_here(self, Command command, Request request)
    cdef _enqueue(self, Client client, Command command, Request request, long long flags)
