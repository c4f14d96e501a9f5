# The C types of commands/lists/ends.py.

from commands.core.client cimport Client
from protocol.request cimport Request
from storage.types.lists cimport ListValue


cdef long _EVENTS

cpdef bytes parse_side(bytes word)
cpdef ListValue push(Client client, bytes key, ListValue value, bytes side, list[bytes] items)
cpdef list take(ListValue value, bytes side, Py_ssize_t count)
cpdef finish_pop(Client client, bytes key, ListValue value, bytes side, Py_ssize_t changes)
cpdef after_removal(Client client, bytes key, ListValue value, Py_ssize_t changes)
cpdef list pop(Client client, bytes key, ListValue value, bytes side, Py_ssize_t count)
