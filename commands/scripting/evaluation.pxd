# The C types of commands/scripting/evaluation.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.scripting.running_script cimport Running
from commands.scripting.script_cache cimport Script
from commands.scripting.scripting_state cimport Scripting
from protocol.request cimport Request


cpdef tuple split_arguments(Request argv, bytes not_a_number=*)
cpdef show(Client client, Request argv)
cdef object _evaluate_cached(Client client, Request argv, bint is_read_only)
cdef object _start(
    Client client, Request argv, Script script, list keys, list rest, bint is_read_only
)
