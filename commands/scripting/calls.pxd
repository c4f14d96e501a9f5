# The C types of commands/scripting/calls.py.

from commands.core.instance cimport Instance
from commands.core.registry cimport Runner
from commands.scripting.interpreter cimport HostFunctions, Interpreter
from commands.scripting.running_script cimport Running, ScriptClient
from protocol.request cimport Request


cdef class Calls(HostFunctions):
    cdef dict __dict__
    cdef object _scripting
    cdef Instance _instance
    cdef ScriptClient _client
    cdef Running _running
    cdef object _services
    cdef Runner _runner
    cdef long long _mark_ns
    cdef Interpreter _interpreter
    cdef dict _plain
    cdef bint _may_be_refused
    cdef bint _is_tracked

    cpdef begin(self, Running running, Interpreter interpreter)
    cdef _note_time(self)
    cdef bytes _call_plain(self, tuple plain, list words)
    cdef bytes _call_any(self, list argv)
