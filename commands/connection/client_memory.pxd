# The C types of commands/connection/client_memory.py.

from commands.core.blocked_clients cimport BlockedClients
from commands.core.client cimport Client
from commands.core.instance cimport Instance
from storage.keyspace.database cimport Database


cdef long _LIMITED_GATES
cdef long _UNHELD_GATES
cdef long _REPLICATION_GATES
cdef long _MODE_GATES

cpdef bint is_unlimited(Client client)
cpdef object output_room_bytes(Client client)
cpdef bint waits_for_peer(Client client)


cdef Py_ssize_t CLIENT_BYTES
cdef Py_ssize_t CLASSES
cdef Py_ssize_t _SMALLEST_BITS
cdef long UNCOUNTED
cdef long EVICTABLE
cdef long SPARED
cdef long REPLICA


cdef class ClientMemory:
    cdef public long total_bytes
    cdef public long replica_bytes
    cdef public long evictable_bytes
    cdef public dict slow
    cdef BlockedClients _blocked
    cdef list _classes
    cdef list _to_look_at
    cdef Py_ssize_t _part

    cpdef note(self, Client client)
    cpdef update(self, Client client)
    cpdef Client largest(self)
    cdef _put_in(self, Client client, Py_ssize_t size_bytes)
    cdef _take_out(self, Client client)
    cpdef bint is_plain(self, Client client) except -1
    cpdef tuple line_values(self, Client client, object own, tuple modes, long monotonic_ms)
    cpdef Py_ssize_t bytes_of(self, Client client) except -1


cdef class MemoryUse:
    cdef Instance _instance
    cdef list _databases
    cdef public long startup_bytes
    cdef ClientMemory _clients
    cdef public long rest_bytes
    cdef public long peak_bytes
    cdef public long peak_ms

    cpdef long used_bytes(self)


cpdef Py_ssize_t output_bytes(Client client) except -1
cdef Py_ssize_t _transaction_bytes(Client client) except -1
cpdef Py_ssize_t class_of(Py_ssize_t size_bytes) except -1
cdef long _kind(Client client) except -1
cpdef object count_clients(Instance instance, long active_since_ms)
