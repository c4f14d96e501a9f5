# The C types of commands/lists/lmove.py.

from commands.core.client cimport Client
from commands.lists.ends cimport finish_pop, parse_side, push, take
from protocol cimport replies
from protocol.request cimport Request
from storage.types.lists cimport ListValue


cdef class Move:
    cdef public bytes source
    cdef public bytes target
    cdef public bytes source_side
    cdef public bytes target_side
    cdef public Py_ssize_t count
    cdef public bint is_exact
    cdef public bint keeps_order


cpdef Move parse_move(Request argv)
cpdef list move(Client client, Move request)
