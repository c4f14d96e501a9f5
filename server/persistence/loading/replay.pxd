# The C types of server/persistence/loading/replay.py.

from commands.core.client cimport Client
from protocol.request cimport Cutter, Request


cdef class Replay:
    cdef public Py_ssize_t requests
    cdef public object refusals
    cdef public object first_refusal
    cdef public object passed_over
    cdef public object open_unit_offset
    cdef list _unit
    cdef Py_ssize_t _place
    cdef object _command
    cdef bytes _name
    cdef Py_ssize_t _least_words
    cdef Py_ssize_t _most_words
    cdef object _instance
    cdef object _commands
    cdef object _file_name
    cdef Cutter _cutter
    cdef Cutter _unit_cutter
    cdef Client _client

    cdef _run_batch(self, Py_ssize_t offset, bytes text)
    cdef _run_each(self, Py_ssize_t offset, bytes text)
    cdef _execute(self, Request request)
    cdef _handle(self, object command, Request request)


cdef bint _is_named(Cutter request, bytes name) except -1
