# The C types of commands/scripting/running_script.py.

from commands.core.client cimport Client


cdef class Running:
    cdef public Client client
    cdef public bytes name
    cdef public list argv
    cdef public bint is_function
    cdef public bint is_library
    cdef public bint is_read_only
    cdef public bint allows_growth
    cdef public bint is_brief
    cdef public bint has_written
    cdef public bint is_killed
    cdef public long replicates
    cdef public long slot
    cdef public long long started_us
    cdef public long long deadline_us


cpdef Running running_script(
    Client client, bytes name, list argv, bint is_function, bint is_read_only
)


cdef class ScriptClient(Client):
    cdef public Client caller

    cpdef begin(self, Client caller)
