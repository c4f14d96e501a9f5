# The C types of storage/types/members/pairs.py.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from libc.string cimport memcpy

from protocol.replies cimport bulk_size, put_text
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
    cdef Py_ssize_t start = key_start(-1, data, 0)
    return start + key_length(-1, data, 0, PyBytes_GET_SIZE(record), start)


cdef inline bytes get_field(bytes record):
    cdef Py_ssize_t start = key_start(-1, <const unsigned char*> record, 0)
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(record) + start, value_start(record) - start)


cdef inline bytes get_value(bytes record):
    cdef Py_ssize_t start = value_start(record)
    return PyBytes_FromStringAndSize(
        PyBytes_AS_STRING(record) + start, PyBytes_GET_SIZE(record) - start
    )


cdef inline bytes make_pair_bulks(bytes head, list records):
    cdef Py_ssize_t total = PyBytes_GET_SIZE(head)
    cdef Py_ssize_t place, start, end
    cdef bytes record
    cdef char* out
    for place in range(PyList_GET_SIZE(records)):
        record = <bytes> PyList_GET_ITEM(records, place)
        end = value_start(record)
        start = key_start(-1, <const unsigned char*> record, 0)
        total += bulk_size(end - start) + bulk_size(PyBytes_GET_SIZE(record) - end)
    made = PyBytes_FromStringAndSize(NULL, total)
    out = PyBytes_AS_STRING(made)
    memcpy(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    out += PyBytes_GET_SIZE(head)
    for place in range(PyList_GET_SIZE(records)):
        record = <bytes> PyList_GET_ITEM(records, place)
        end = value_start(record)
        start = key_start(-1, <const unsigned char*> record, 0)
        out = put_text(out, PyBytes_AS_STRING(record) + start, end - start)
        out = put_text(out, PyBytes_AS_STRING(record) + end, PyBytes_GET_SIZE(record) - end)
    return made


cpdef bytes pair(bytes field, bytes value)
cpdef bytes field_of(bytes record)
cpdef bytes value_of(bytes record)
cpdef bytes pair_bulks(bytes head, list[bytes] records)
