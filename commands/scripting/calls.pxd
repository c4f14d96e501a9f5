# The C types of commands/scripting/calls.py.

from commands.core.instance cimport Instance
from commands.scripting.running cimport Running, ScriptClient


cdef class Calls:
    cdef dict __dict__
    cdef object _scripting
    cdef Instance _instance
    cdef ScriptClient _client
    cdef Running _running
    cdef object _account
    cdef object _has_room
    cdef bint _may_be_refused
    cdef bint _is_tracked

    cdef object _call_plain(self, object command, list argv)
