# The C types of commands/scripting/calls.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.registry cimport Runner
from commands.scripting.interpreter cimport HostFunctions, Interpreter
from protocol.request cimport Request


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
    cdef public long started_us
    cdef public long deadline_us


cpdef Running running_script(
    Client client, bytes name, list argv, bint is_function, bint is_read_only
)


cdef class ScriptClient(Client):
    cdef public Client caller

    cpdef begin(self, Client caller)


cdef class Script:
    cdef public bytes sha
    cdef public bytes body
    cdef public object function
    cdef public object flags
    cdef public bint has_shebang
    cdef public bint is_loaded


cdef class ScriptCache:
    cdef public long evicted
    cdef public long body_bytes
    cdef object _compile
    cdef dict _scripts
    cdef dict _evaluated

    cpdef Script find(self, bytes sha)


cdef class Calls(HostFunctions):
    cdef object _scripting
    cdef object _commands
    cdef Instance _instance
    cdef ScriptClient _client
    cdef Running _running
    cdef Runner _runner
    cdef long _mark_ns
    cdef Interpreter _interpreter
    cdef dict _plain
    cdef bint _may_be_refused
    cdef bint _is_tracked

    cpdef begin(self, Running running, Interpreter interpreter)
    cdef _note_time(self)
    cdef bytes _call_plain(self, tuple plain, Request request)
    cdef bytes _call_any(self, Request request)
