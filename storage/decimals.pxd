# The C types of storage/decimals.py.

cdef Py_ssize_t put_decimal(
    unsigned char* out, Py_ssize_t place, unsigned long long number
) noexcept
cdef Py_ssize_t digits_of(unsigned long long number) noexcept
