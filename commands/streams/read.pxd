# The C types of commands/streams/read.py.

cimport cython

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.entries.entry_id cimport entry_id_t, EntryIDs, make_id, PlainID
from storage.keyspace.database cimport Database
from storage.redis_format.listpack_size cimport plain_integer
from storage.stream cimport Stream


cdef EntryIDs _IDS
cdef PlainID _PLAIN_ID


cdef class KnownRead:
    cdef object request
    cdef bytes key
    cdef bint waits
    cdef bint may_be_few
    cdef Py_ssize_t count
    cdef bytes header_2
    cdef bytes header_3


@cython.locals(after=entry_id_t)
cdef bytes _read_few(Client client, Request request, KnownRead known)
