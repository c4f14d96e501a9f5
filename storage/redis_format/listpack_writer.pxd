# The C types of storage/redis_format/listpack_writer.py.

from storage.redis_format.listpack_size cimport backward_length_bytes, int64_bytes, plain_integer
from storage.memory cimport put_bytes


cdef class ListpackWriter:
    cdef bytearray _memory
    cdef unsigned char* out
    cdef public Py_ssize_t place
    cdef public Py_ssize_t count

    cpdef begin(self, Py_ssize_t room)
    cpdef void put_integer(self, long long number) noexcept
    cpdef void put_word(
        self, const unsigned char* data, Py_ssize_t start, Py_ssize_t length
    ) noexcept
    cpdef finish(self)
    cpdef bytes content(self)


cdef Py_ssize_t write_word(
    unsigned char* out,
    Py_ssize_t place,
    const unsigned char* data,
    Py_ssize_t start,
    Py_ssize_t length,
) noexcept
cdef Py_ssize_t write_integer(
    unsigned char* out, Py_ssize_t place, long long number
) noexcept
cdef Py_ssize_t _write_text(
    unsigned char* out,
    Py_ssize_t place,
    const unsigned char* data,
    Py_ssize_t start,
    Py_ssize_t length,
) noexcept


cdef inline void put_number(ListpackWriter listpack, long long number) noexcept:
    """put_integer(), without a call for one of 7 bits, as most in a node are."""
    if number < 0 or number > 127:
        listpack.put_integer(number)
        return
    listpack.out[listpack.place] = <unsigned char> number
    listpack.out[listpack.place + 1] = 1
    listpack.place += 2
    listpack.count += 1
