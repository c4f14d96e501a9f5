# The C types of commands/sets/members.py.

from commands.core.client cimport Client
from protocol cimport replies
from protocol.request cimport Request
from storage.types.sets cimport SetValue


cdef Py_ssize_t _BYTES_PER_MEMBER
