# The C types of storage/types/members/pairs.py.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcpy

from storage.types.members.key_part cimport key_length, key_start


cdef inline bytes make_pair(bytes field, bytes value):
    cdef Py_ssize_t size = PyBytes_GET_SIZE(field)
    cdef unsigned long long length = size
    cdef Py_ssize_t start = 1 if size < 255 else 9
    made = PyBytes_FromStringAndSize(NULL, start + size + PyBytes_GET_SIZE(value))
    cdef char* out = PyBytes_AS_STRING(made)
    out[0] = <char> <unsigned char> (size if start == 1 else 255)
    if start == 9:
        memcpy(out + 1, &length, 8)
    memcpy(out + start, PyBytes_AS_STRING(field), size)
    memcpy(out + start + size, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return made


cdef inline Py_ssize_t value_start(bytes record) noexcept:
    """Where the value of a record begins."""
    cdef const unsigned char* data = <const unsigned char*> record
    cdef Py_ssize_t start = key_start(-1, data)
    return start + key_length(-1, data, PyBytes_GET_SIZE(record), start)


cdef inline bytes get_field(bytes record):
    cdef Py_ssize_t start = key_start(-1, <const unsigned char*> record)
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(record) + start, value_start(record) - start)


cdef inline bytes get_value(bytes record):
    cdef Py_ssize_t start = value_start(record)
    return PyBytes_FromStringAndSize(
        PyBytes_AS_STRING(record) + start, PyBytes_GET_SIZE(record) - start
    )


cpdef bytes pair(bytes field, bytes value)
cpdef bytes field_of(bytes record)
cpdef bytes value_of(bytes record)
