# The C types of commands/streams/add.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from protocol.request cimport Request
from storage.append_only.request_writer cimport RequestWriter
from storage.entries.entry_id cimport PlainID
from storage.keyspace.database cimport Database
from storage.stream cimport Stream


cpdef object automatic_id(Stream stream, long long now_ms)

cdef object _known_cap(Client client, Request request, Py_ssize_t id_position)

cdef PlainID _PLAIN_ID
cdef int _STAR
cdef int _EQUALS
cdef int _TILDE

cdef bytes _add_unparsed(Client client, Request request)
cdef _propagate_unparsed(
    Client client, Request request, Py_ssize_t id_position, Stream stream, object trim,
    bytes reply, bytes fields,
)


cdef class KnownCaps:
    cdef long long node_max_entries
    cdef dict trims


cdef KnownCaps _known_caps
