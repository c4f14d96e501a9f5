# The C types of commands/core/runner.py.

from commands.core.client cimport Client
from commands.core.registry cimport Command
from protocol.request cimport Request


cdef class Runner:
    cdef public long long mark_ns

    cpdef object account(self, Client client, Command command, Request request, object handler)
    cpdef object run_with_pauses(self, Client client, list argv, object work)
