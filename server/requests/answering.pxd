# The C types of server/requests/answering.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.registry cimport Command
from server.requests.command_clock cimport CommandClock


cdef long _PRIMARY
cdef long _REPLICA
cdef long _SILENT


cdef class Answering:
    cdef Instance _instance
    cdef CommandClock _clock

    cpdef answer(self, Client client, bytes reply, Py_ssize_t position)
    cpdef reject(self, Client client, Command command, object error)
