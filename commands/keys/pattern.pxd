# The C types of commands/keys/pattern.py.

cdef int _STAR
cdef int _ANY
cdef int _OPEN
cdef int _CLOSE
cdef int _NOT
cdef int _DASH
cdef int _ESCAPE

cpdef bint matches(bytes pattern, bytes text, bint ignore_case=*) except -1
cpdef list matching(object patterns, bytes text)
cdef Py_ssize_t _next(
    const unsigned char *p, Py_ssize_t at, Py_ssize_t end, const unsigned char *t,
    Py_ssize_t place, Py_ssize_t length, bint ignore_case
) noexcept
cdef Py_ssize_t _after(
    const unsigned char *p, Py_ssize_t at, Py_ssize_t end, int byte, bint ignore_case
) noexcept
cdef Py_ssize_t _after_class(
    const unsigned char *p, Py_ssize_t at, Py_ssize_t end, int byte, bint ignore_case
) noexcept
cdef bint _is_between(int start, int end, int byte, bint ignore_case) noexcept
cdef int _lower(int byte) noexcept
