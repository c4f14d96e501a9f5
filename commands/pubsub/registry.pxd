# The C types of commands/pubsub/registry.py.

from commands.core.client cimport Client
from protocol.request cimport Request


cdef Py_ssize_t _QUICK_BYTES
cdef Py_ssize_t _RECEIVER_BYTES

cdef bytes _delivered(Request argv, bytes message, Py_ssize_t receivers)
