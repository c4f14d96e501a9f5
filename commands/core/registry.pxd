# The C types of commands/core/registry.py.

from commands.core.client cimport Client
from protocol.request cimport Request


cdef class Command:
    cdef public bytes name
    cdef public bytes fullname
    cdef public object handler
    cdef public long arity
    cdef public long flags
    cdef public tuple keys
    cdef public bint defers_ready_keys
    cdef public bint is_quick
    cdef public bint has_one_key
    cdef public Command parent
    cdef public dict subcommands
    cdef public long least_words
    cdef public long most_words


cdef class Stopwatch:
    cdef public long mark_ns


cdef class Runner:
    cdef public Stopwatch stopwatch

    cpdef object account(self, Client client, Command command, Request request, object handler)
    cpdef object run(self, Client client, Command command, Request request)
    cpdef object run_with_pauses(self, Client client, list argv, object work)
