# The C types of storage/entries/entry.py.

from storage.memory cimport bytes_object_bytes, list_bytes


cdef list _FIELDS_HEADERS
cdef long long _SHAPE_BYTES

cdef long long _names_bytes(list[bytes] names)

cpdef bytes encode_id_parts(unsigned long long ms, unsigned long long seq)
cpdef bytes fields_header(Py_ssize_t words)
