# The C types of commands/streams/add.py.

cimport cython

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.writes cimport opened, written
from protocol.request cimport Request
from storage.append_only.request_writer cimport RequestWriter
from storage.entries.entry_id cimport PlainID, entry_id_t, id_ms, id_seq, make_id
from storage.stream cimport Stream


cdef PlainID _PLAIN_ID
cdef AddOptions _NO_OPTIONS
cdef entry_id_t _LAST_ID
cdef entry_id_t _NO_ID
cdef unsigned long long _GREATEST_SEQ
cdef int _STAR
cdef int _EQUALS
cdef int _TILDE
cdef long _EVENTS


cdef class AddOptions:
    cdef Py_ssize_t id_position
    cdef bint no_mkstream
    cdef object trim
    cdef long max_length
    cdef bint is_approximate
    cdef object idempotency
    cdef object later
    cdef bint is_carried


cdef class KnownCaps:
    cdef long node_max_entries
    cdef dict options


cdef KnownCaps _known_caps


@cython.locals(entry_id=entry_id_t, last_id=entry_id_t)
cdef bytes _add(
    Client client, Request request, AddOptions options, Py_ssize_t words, bint is_automatic,
    bint has_seq,
)
cpdef bytes append_entry(
    Client client, bytes key, Stream stream, entry_id_t entry_id, bytes fields, Py_ssize_t words
)
@cython.locals(entry_id=entry_id_t)
cpdef entry_id_t automatic_id(entry_id_t last_id, unsigned long long now_ms) except? 0
@cython.locals(entry_id=entry_id_t)
cdef entry_id_t _given_id(entry_id_t last_id, bint has_seq) except? 0
cdef AddOptions _capped(Client client, Request request)
cdef AddOptions _parse(Client client, list argv)
cdef _propagate(
    Client client, Request request, AddOptions options, Stream stream, bytes reply, bytes fields
)
