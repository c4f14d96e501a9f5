# Parts of memory, copied and compared by the C library: what storage/raw_bytes.py does interpreted.
#
# Inline, because most parts are a few bytes long: a call of another module's function takes longer.

from libc.string cimport memcmp, memcpy, memmove


cdef inline Py_ssize_t put_bytes(
    unsigned char* out,
    Py_ssize_t place,
    const unsigned char* data,
    Py_ssize_t start,
    Py_ssize_t length,
) noexcept:
    """Write a part of `data`, another object, into `out`; the place after it."""
    memcpy(out + place, data + start, length)
    return place + length


cdef inline void move_bytes(
    unsigned char* out, Py_ssize_t start, Py_ssize_t end, Py_ssize_t to
) noexcept:
    """Move a part of `out` to another place in it, which may overlap."""
    memmove(out + to, out + start, end - start)


cdef inline bint is_at(
    const unsigned char* data, Py_ssize_t place, const unsigned char* text, Py_ssize_t length
) noexcept:
    """Return True if the `length` bytes of `text` are in `data` at `place`."""
    return memcmp(data + place, text, length) == 0
