# The C types of commands/lists/elements.py.

from commands.core.arguments cimport parse_int
from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.types.lists cimport ListValue


cdef long _EVENTS

cpdef bytes parse_side(bytes word)
cpdef tuple clip(ListValue value, long start, long stop)
cpdef ListValue push(Client client, bytes key, ListValue value, bytes side, list[bytes] items)
cpdef list take(ListValue value, bytes side, Py_ssize_t count)
cpdef finish_pop(Client client, bytes key, ListValue value, bytes side, Py_ssize_t changes)
cpdef after_removal(Client client, bytes key, ListValue value, Py_ssize_t changes)
cpdef list pop(Client client, bytes key, ListValue value, bytes side, Py_ssize_t count)


cdef class Move:
    cdef public bytes source
    cdef public bytes target
    cdef public bytes source_side
    cdef public bytes target_side
    cdef public Py_ssize_t count
    cdef public bint is_exact
    cdef public bint keeps_order


cpdef Move new_move(bytes source, bytes target, bytes source_side, bytes target_side)
cpdef Move parse_move(Request argv)
cpdef list move(Client client, Move request)
