# The C types of storage/redis_format/listpack_elements.py.

from storage.decimals cimport put_decimal
from storage.memory cimport is_at, put_bytes
from storage.redis_format.listpack_size cimport (
    backward_length_bytes, int64_bytes, plain_integer, text_bytes,
)


cdef Py_ssize_t _MAX_DIGITS

cdef Py_ssize_t element_end(const unsigned char* data, Py_ssize_t place) noexcept
cdef Py_ssize_t element_before(const unsigned char* data, Py_ssize_t end) noexcept
cdef Py_ssize_t place_after(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t count
) noexcept
cdef Py_ssize_t place_before(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t count
) noexcept
cdef Py_ssize_t _number_bytes(Py_ssize_t head) noexcept
cdef bint _is_text(Py_ssize_t head) noexcept
cdef Py_ssize_t _text_start(const unsigned char* data, Py_ssize_t place) noexcept
cdef Py_ssize_t _text_length(const unsigned char* data, Py_ssize_t place) noexcept
cdef long long _number_at(const unsigned char* data, Py_ssize_t place) noexcept
cdef Py_ssize_t _put_number(unsigned char* out, Py_ssize_t place, long long number) noexcept
cdef bytes word_at(const unsigned char* data, Py_ssize_t place)
cdef list words_at(const unsigned char* data, Py_ssize_t place, Py_ssize_t count)
cdef Py_ssize_t put_bulks(
    unsigned char* out,
    Py_ssize_t at,
    const unsigned char* data,
    Py_ssize_t place,
    Py_ssize_t count,
) noexcept
cdef Py_ssize_t _put_line(unsigned char* out, Py_ssize_t at, Py_ssize_t length) noexcept
cdef Py_ssize_t next_equal(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t end, bytes element
) except -2
cdef Py_ssize_t count_plain(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t end
) noexcept
cdef Py_ssize_t _plain_end(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t end
) noexcept
cdef bint _is_decimal(
    const unsigned char* data, Py_ssize_t start, Py_ssize_t length
) noexcept
cdef Py_ssize_t _backward_end(
    const unsigned char* data, Py_ssize_t place, Py_ssize_t end, Py_ssize_t size
) noexcept
