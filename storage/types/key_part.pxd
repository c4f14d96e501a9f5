# The C types of storage/types/key_part.py.

from cpython.array cimport array, clone
from libc.string cimport memcmp, memcpy
from protocol.python_api cimport PyBytes_GET_SIZE, PyObject_Hash


# What storage/types/key_part.py says, in C.


cdef enum:
    MEMBERS = 0
    PAIRS = -1
    LONG = 255
    LONG_HEADER = 9
    KEYS = 1
    VALUES = 2


cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030E0000
    #define rillway_hash(data, size) Py_HashBuffer((data), (size))
    #else
    #define rillway_hash(data, size) _Py_HashBytes((data), (size))
    #endif
    """
    Py_hash_t rillway_hash(const void* data, Py_ssize_t size) noexcept


cdef inline Py_ssize_t key_start(
    Py_ssize_t kind, const unsigned char* text, Py_ssize_t at
) noexcept:
    if kind >= 0:
        return at + kind
    return at + (1 if text[at] != 255 else 9)


cdef inline Py_ssize_t key_length(
    Py_ssize_t kind, const unsigned char* text, Py_ssize_t at, Py_ssize_t size, Py_ssize_t start
) noexcept:
    cdef unsigned long long length
    if kind >= 0:
        return at + size - start
    if text[at] != 255:
        return text[at]
    memcpy(&length, text + at + 1, 8)
    return length


cdef inline bint has_key(
    Py_ssize_t kind, bytes record, bytes text, Py_ssize_t start, Py_ssize_t length
) noexcept:
    cdef const unsigned char* data = <const unsigned char*> record
    cdef const unsigned char* wanted = <const unsigned char*> text + start
    cdef Py_ssize_t own = key_start(kind, data, 0)
    return (
        key_length(kind, data, 0, PyBytes_GET_SIZE(record), own) == length
        # Keys that begin alike end differently: most others are recognised by their last byte.
        and (length == 0 or data[own + length - 1] == wanted[length - 1])
        and memcmp(data + own, wanted, length) == 0
    )


cdef inline unsigned long long hash_of(bytes text, Py_ssize_t start, Py_ssize_t length) except? 0:
    if start == 0 and length == PyBytes_GET_SIZE(text):
        return <unsigned long long> PyObject_Hash(text)  # which the object keeps
    return <unsigned long long> rillway_hash(<const unsigned char*> text + start, length)


cdef inline unsigned long long hash_at(
    const unsigned char* text, Py_ssize_t start, Py_ssize_t length
) noexcept:
    return <unsigned long long> rillway_hash(text + start, length)


cdef inline array zeros(array alike, Py_ssize_t count):
    return clone(alike, count, True)


cdef inline unsigned int* slots_of(array index) noexcept:
    return index.data.as_uints
