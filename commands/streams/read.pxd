# The C types of commands/streams/read.py.

cimport cython

from commands.core.client cimport Client
from commands.streams.ranges cimport entries_from
from protocol.request cimport Request
from storage.entries.entry_id cimport PlainID, entry_id_t, make_id
from storage.stream cimport Stream


cdef PlainID _PLAIN_ID


cdef class KnownRead:
    cdef object request
    cdef bytes key
    cdef bint waits
    cdef Py_ssize_t count
    cdef bytes header_2
    cdef bytes header_3

    cpdef object read(self, Client client, entry_id_t after)


@cython.locals(after=entry_id_t)
cdef object _read_one(Client client, Request request, KnownRead known)
cdef entry_id_t _after(Client client, bytes key, bytes text)
