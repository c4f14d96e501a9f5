# The C types of commands/transactions/transaction.py.

from commands.core.client cimport Client
from commands.core.registry cimport Command
from protocol.request cimport Request


cdef long _RUNS_LUA


cdef class Transaction:
    cdef public list commands
    cdef public list requests
    cdef public bint runs_lua
    cdef public bint is_refused

    cpdef add(self, Command command, Request request, long flags)


cdef object _execute(Client client, Transaction transaction)
cpdef discard_transaction(Client client)
