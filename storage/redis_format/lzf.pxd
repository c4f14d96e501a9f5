# The C types of storage/redis_format/lzf.py.

from cpython.array cimport array
from libc.string cimport memcpy, memset

from storage.memory cimport put_bytes


cdef inline unsigned int four_bytes(const unsigned char* data, Py_ssize_t place) noexcept:
    """The four bytes from a place on, as a number."""
    cdef unsigned int word
    memcpy(&word, data + place, 4)
    return word


cdef inline unsigned int* cleared(array numbers) noexcept:
    """The numbers of an array, all of them 0."""
    memset(numbers.data.as_uints, 0, 4 * len(numbers))
    return numbers.data.as_uints


cdef Py_ssize_t _MAX_LITERALS
cdef Py_ssize_t _MAX_REPEAT
cdef Py_ssize_t _WINDOW_BYTES
cdef Py_ssize_t _MIN_GAIN_BYTES
cdef unsigned long long _FACTOR
cdef int _PATIENCE_BITS


cdef class Compressor:
    cdef array _seen

    cpdef Py_ssize_t compress(
        self, const unsigned char* data, Py_ssize_t size, unsigned char* out, Py_ssize_t start
    ) noexcept


cdef Compressor _COMPRESSOR

cdef unsigned int _slot(unsigned long long word) noexcept
cdef Py_ssize_t _length_of_repeat(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t distance, Py_ssize_t size
) noexcept
cdef Py_ssize_t _literals_bytes(Py_ssize_t count) noexcept
cdef Py_ssize_t _put_literals(
    unsigned char* out,
    Py_ssize_t start,
    const unsigned char* data,
    Py_ssize_t place,
    Py_ssize_t count,
) noexcept
cdef Py_ssize_t _put_repeat(
    unsigned char* out, Py_ssize_t start, Py_ssize_t length, Py_ssize_t distance
) noexcept


cdef class _Output:
    cdef bytearray _memory
    cdef unsigned char* _out
    cdef Py_ssize_t _end
    cdef public Py_ssize_t place

    cpdef bytes content(self)
    cpdef bint expand(self, bytes blob)
    cdef void _copy(
        self, const unsigned char* data, Py_ssize_t position, Py_ssize_t count
    ) noexcept
    cdef void _repeat(self, Py_ssize_t distance, Py_ssize_t count) noexcept
