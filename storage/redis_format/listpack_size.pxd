# The C types of storage/redis_format/listpack_size.py.

cdef Py_ssize_t _SHORT_STRING_BYTES
cdef Py_ssize_t _MAX_SHORT_STRING
cdef Py_ssize_t _MAX_INTEGER_DIGITS
cdef unsigned long long _MAX_INT64
cdef Py_ssize_t _SAFE_DIGITS

cpdef Py_ssize_t int64_bytes(long long number) noexcept
cpdef Py_ssize_t element_bytes(bytes value)
cpdef Py_ssize_t elements_bytes(list[bytes] values)
cpdef Py_ssize_t text_bytes(Py_ssize_t length) noexcept
cpdef Py_ssize_t backward_length_bytes(Py_ssize_t size) noexcept
cpdef long long plain_integer(
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
