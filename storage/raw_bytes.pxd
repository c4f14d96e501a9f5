# The C types of storage/raw_bytes.py.

from libc.string cimport memcmp, memcpy, memmove


cdef Py_ssize_t put_bytes(
    unsigned char* out,
    Py_ssize_t place,
    const unsigned char* data,
    Py_ssize_t start,
    Py_ssize_t length,
)
cdef void move_bytes(
    unsigned char* out, Py_ssize_t start, Py_ssize_t end, Py_ssize_t to
) noexcept
cdef bint is_at(
    const unsigned char* data, Py_ssize_t place, const unsigned char* text, Py_ssize_t length
)
