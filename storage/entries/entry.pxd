# The C types of storage/entries/entry.py.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy


cdef bytes _HEADER
cdef list _FIELDS_HEADERS

cdef inline bytes joined(bytes header, bytes id_bulk, bytes count, bytes fields):
    """The four of them, one after the other."""
    cdef Py_ssize_t id_at = len(header)
    cdef Py_ssize_t count_at = id_at + len(id_bulk)
    cdef Py_ssize_t fields_at = count_at + len(count)
    cdef bytes whole = PyBytes_FromStringAndSize(NULL, fields_at + len(fields))
    cdef char* out = PyBytes_AS_STRING(whole)
    memcpy(out, PyBytes_AS_STRING(header), len(header))
    memcpy(out + id_at, PyBytes_AS_STRING(id_bulk), len(id_bulk))
    memcpy(out + count_at, PyBytes_AS_STRING(count), len(count))
    memcpy(out + fields_at, PyBytes_AS_STRING(fields), len(fields))
    return whole


cpdef bytes encode_id_parts(unsigned long long ms, unsigned long long seq)
cpdef bytes encode_entry(bytes id_bulk, bytes fields, Py_ssize_t words)
