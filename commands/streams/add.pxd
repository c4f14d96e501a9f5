# The C types of commands/streams/add.py.

from commands.client cimport Client
from commands.instance cimport Instance
from protocol.cutter cimport Cutter
from storage.entry_id cimport parse_plain_id
from storage.keyspace cimport Database
from storage.stream cimport Stream


cdef object _raw_id(Stream stream, Cutter request, Py_ssize_t position, long long now_ms)
cdef _tell_of_entry(Client client, bytes key)
cpdef object automatic_id(Stream stream, long long now_ms)
