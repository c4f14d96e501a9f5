# The C types of server/requests/admission.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.transactions.transaction cimport Transaction
from protocol.request cimport Request
from server.requests.client_limit cimport ClientLimit
from server.requests.turns cimport Turns


cdef long long _MULTI


cdef class Admission:
    cdef Instance _instance
    cdef Turns _turns
    cdef ClientLimit _client_limit
    cdef object _answers

    cpdef bint admits(self, Client client, object command, Request request)
    cpdef _enqueue(self, Client client, object command, Request request)
