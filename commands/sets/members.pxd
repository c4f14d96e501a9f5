# The C types of commands/sets/members.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol cimport replies
from protocol.request cimport Request
from storage.types.sets cimport SetValue


cdef long _EVENTS

cpdef remove_if_empty(Client client, bytes key, SetValue value)
