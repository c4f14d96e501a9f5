# The C types of server/requests/client_limit.py.

from commands.connection.client_memory cimport ClientMemory
from commands.core.client cimport Client
from commands.core.instance cimport Instance


cdef class ClientLimit:
    cdef Instance _instance
    cdef ClientMemory _memory
    cdef long long _limit_bytes
    cdef Client _client
    cdef Py_ssize_t _replies

    cpdef check_before(self, Client client)
    cdef _check(self)
