# The C types of commands/scripting/scripting_state.py.

from commands.core.instance cimport Instance
from commands.scripting.calls cimport Calls
from commands.scripting.interpreter cimport Interpreter
from commands.scripting.running_script cimport Running, ScriptClient


cdef class Scripting:
    cdef public Instance instance
    cdef public ScriptClient client
    cdef public Running running
    cdef public bint is_ending
    cdef public object scripts
    cdef public Calls calls
    cdef public object libraries
    cdef tuple _job
    cdef Interpreter _interpreter
    cdef long long _looked_us
    cdef long _instructions
