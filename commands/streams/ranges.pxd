# The C types of commands/streams/ranges.py.

cimport cython

from commands.core.client cimport Client
from protocol.request cimport Request
from storage.entries.entry_id cimport entry_id_t, EntryIDs, make_id, PlainID
from storage.redis_format.listpack_elements cimport plain_integer
from storage.stream cimport Stream


cdef Py_ssize_t _VERY_FEW_ENTRIES
cdef Py_ssize_t _FEW_ENTRIES
cdef Py_ssize_t _LONG_BYTES
cdef int _PLUS
cdef EntryIDs _IDS
cdef PlainID _PLAIN_ID

cpdef bint is_long(
    Stream stream, object start, object end, Py_ssize_t count, bint reverse=*
) except -1
cpdef object entries_from(Stream stream, entry_id_t start, Py_ssize_t count, bytes header)
@cython.locals(start=entry_id_t)
cdef object _range(Client client, Request argv)
cdef entry_id_t _first_id(bytes text)
cdef Py_ssize_t _parse_count(Request argv) except? -1
