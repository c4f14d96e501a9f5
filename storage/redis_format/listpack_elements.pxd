# The C types of storage/redis_format/listpack_elements.py.

from storage.memory cimport is_at, put_bytes


cdef Py_ssize_t put_decimal(
    unsigned char* out, Py_ssize_t place, unsigned long long number
) noexcept
cdef Py_ssize_t digits_of(unsigned long long number) noexcept


cdef Py_ssize_t _SHORT_STRING_BYTES
cdef Py_ssize_t _MAX_SHORT_STRING
cdef Py_ssize_t _MAX_INTEGER_DIGITS
cdef unsigned long long _MAX_INT64
cdef Py_ssize_t _SAFE_DIGITS

cpdef Py_ssize_t int64_bytes(long number) noexcept
cpdef Py_ssize_t element_bytes(bytes value)
cpdef Py_ssize_t elements_bytes(list[bytes] values)
cpdef Py_ssize_t text_bytes(Py_ssize_t length) noexcept
cpdef Py_ssize_t backward_length_bytes(Py_ssize_t size) noexcept
cpdef long plain_integer(
    const unsigned char* data, Py_ssize_t start, Py_ssize_t length
) noexcept

cdef Py_ssize_t _element_bytes(
    const unsigned char* data, Py_ssize_t start, Py_ssize_t length
) noexcept
cdef bint _is_at(
    const unsigned char* data, Py_ssize_t place, const unsigned char* text, Py_ssize_t length
) noexcept


cdef class FieldSizes:
    cdef public bint are_alike
    cdef public Py_ssize_t element_bytes
    cdef public Py_ssize_t text_bytes

    cpdef measure(self, bytes entry, Py_ssize_t position, list[bytes] names)


cdef FieldSizes _SIZES


cdef class ListpackWriter:
    cdef bytearray _memory
    cdef unsigned char* out
    cdef public Py_ssize_t place
    cdef public Py_ssize_t count

    cpdef begin(self, Py_ssize_t room)
    cpdef void put_integer(self, long number) noexcept
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
    unsigned char* out, Py_ssize_t place, long number
) noexcept
cdef Py_ssize_t _write_text(
    unsigned char* out,
    Py_ssize_t place,
    const unsigned char* data,
    Py_ssize_t start,
    Py_ssize_t length,
) noexcept


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
cdef long _number_at(const unsigned char* data, Py_ssize_t place) noexcept
cdef Py_ssize_t _put_number(unsigned char* out, Py_ssize_t place, long number) noexcept
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
