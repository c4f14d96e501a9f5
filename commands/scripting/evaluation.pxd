# The C types of commands/scripting/evaluation.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.registry cimport Runner
from commands.scripting.calls cimport Calls
from commands.scripting.interpreter cimport Compiled
from commands.scripting.interpreter cimport Interpreter
from commands.scripting.calls cimport Running, ScriptClient
from commands.scripting.calls cimport Script, ScriptCache
from protocol.request cimport Request


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
    cdef long _looked_us
    cdef long _instructions

    cpdef Interpreter script_interpreter(self)
    cpdef object run(
        self, Running running, Interpreter interpreter, Compiled function, list keys, list rest
    )


cpdef tuple split_arguments(Request argv, bytes not_a_number=*)
cpdef show(Client client, Request argv)
cdef object _evaluate_cached(Client client, Request argv, bint is_read_only)
cdef object _start(
    Client client, Request argv, Script script, list keys, list rest, bint is_read_only
)
