# What storage/types/members/key_part.py says, in C.

from cpython.array cimport array, clone
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.object cimport PyObject_Hash
from libc.string cimport memcmp, memcpy

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030E0000
    #define rillway_hash(data, size) Py_HashBuffer((data), (size))
    #else
    #define rillway_hash(data, size) _Py_HashBytes((data), (size))
    #endif
    """
    Py_hash_t rillway_hash(const void* data, Py_ssize_t size) noexcept


cdef inline Py_ssize_t key_start(Py_ssize_t kind, const unsigned char* record) noexcept:
    if kind >= 0:
        return kind
    return 1 if record[0] != 255 else 9


cdef inline Py_ssize_t key_length(
    Py_ssize_t kind, const unsigned char* record, Py_ssize_t size, Py_ssize_t start
) noexcept:
    cdef unsigned long long length
    if kind >= 0:
        return size - start
    if start == 1:
        return record[0]
    memcpy(&length, record + 1, 8)
    return length


cdef inline bint has_key(
    Py_ssize_t kind, bytes record, bytes text, Py_ssize_t start, Py_ssize_t length
) noexcept:
    cdef const unsigned char* data = <const unsigned char*> record
    cdef const unsigned char* wanted = <const unsigned char*> text + start
    cdef Py_ssize_t own = key_start(kind, data)
    return (
        key_length(kind, data, PyBytes_GET_SIZE(record), own) == length
        # Keys that begin alike end differently: most others are recognised by their last byte.
        and (length == 0 or data[own + length - 1] == wanted[length - 1])
        and memcmp(data + own, wanted, length) == 0
    )


cdef inline unsigned long long hash_of(bytes text, Py_ssize_t start, Py_ssize_t length) except? 0:
    if start == 0 and length == PyBytes_GET_SIZE(text):
        return <unsigned long long> PyObject_Hash(text)  # which the object keeps
    return <unsigned long long> rillway_hash(<const unsigned char*> text + start, length)


cdef inline array zeros(array alike, Py_ssize_t count):
    return clone(alike, count, True)


cdef inline unsigned int* slots_of(array index) noexcept:
    return index.data.as_uints
