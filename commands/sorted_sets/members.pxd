# The C types of commands/sorted_sets/members.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.types.sets cimport SortedSetValue


cdef long _EVENTS

cpdef remove_if_empty(Client client, bytes key, SortedSetValue value)
cdef bytes _removed(
    Client client, bytes key, SortedSetValue value, Py_ssize_t count, bytes event
)
cdef list _pop(Client client, bytes key, SortedSetValue value, Py_ssize_t count, object end)
cdef object _pop_from(Client client, Request argv, object end)
