# The C types of commands/scripting/scripting_state.py.

from commands.core.instance cimport Instance
from commands.core.registry cimport Runner
from commands.scripting.calls cimport Calls
from commands.scripting.crossing cimport Compiled
from commands.scripting.interpreter cimport Interpreter
from commands.scripting.running_script cimport Running, ScriptClient
from commands.scripting.script_cache cimport ScriptCache


cdef class Scripting:
    cdef public Instance instance
    cdef public ScriptClient client
    cdef public Running running
    cdef public bint is_ending
    cdef public ScriptCache scripts
    cdef public Calls calls
    cdef public object libraries
    cdef tuple _job
    cdef object _work
    cdef Runner _runner
    cdef Interpreter _interpreter
    cdef long long _looked_us
    cdef long _instructions

    cpdef Interpreter script_interpreter(self)
    cpdef object run(
        self, Running running, Interpreter interpreter, Compiled function, list keys, list rest
    )
