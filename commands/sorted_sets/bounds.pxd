# The C types of commands/sorted_sets/bounds.py.

from commands.core.arguments cimport quick_double


cdef Py_ssize_t _FEW_DIGITS
cdef int _ZERO

cpdef double parse_score(bytes text) except? -1
cpdef bint excludes(bytes text) noexcept
cpdef long long parse_rank(bytes text) except? -1
cpdef tuple rank_span(long long start, long long end, Py_ssize_t count)
