# The C types of commands/core/arguments.py.

from storage.redis_format.listpack_elements cimport plain_integer


cdef long _GREATEST

cpdef long parse_int(
    bytes text, bytes error=*, long minimum=*, long maximum=*
) except? -1
cpdef long parse_deadline(
    bytes amount, long unit_ms, long base_ms, bytes command, long least=*
) except? -1


cdef extern from *:
    """
    #include <math.h>

    /* A sign, digits, and a point between digits; no exponent. The quotient of whole numbers below
       2**53 is the double that is nearest to a decimal fraction; one with more digits is left to
       Python's strtod. */
    static double read_double(PyObject* word, Py_ssize_t start) {
        static const double POWERS[] = {1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
            1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
        const char* begin = PyBytes_AS_STRING(word) + start;
        const char* end = PyBytes_AS_STRING(word) + PyBytes_GET_SIZE(word);
        const char* at = begin;
        unsigned long long digits = 0;
        int fraction = 0, is_negative = 0;
        double number;
        if (end - at > 1 && (*at == '-' || *at == '+')) is_negative = *at++ == '-';
        if (end - at > 20 || at >= end) return NAN;
        for (; at < end; at++) {
            if (*at >= '0' && *at <= '9') {
                digits = 10 * digits + (*at - '0');
                fraction += fraction > 0;
            } else if (*at == '.' && !fraction && at + 1 < end && at[-1] >= '0' && at[-1] <= '9'
                    && at > begin) {
                fraction = 1;
            } else {
                return NAN;
            }
        }
        if (fraction) fraction--;
        if (end - begin <= 19 && digits <= 9007199254740992ULL) {
            number = (double) digits / POWERS[fraction];
            return is_negative ? -number : number;
        }
        number = PyOS_string_to_double(begin, NULL, NULL);
        if (PyErr_Occurred()) { PyErr_Clear(); return NAN; }
        return number;
    }
    """
    double read_double(bytes word, Py_ssize_t start) noexcept

cpdef double quick_double(bytes text, Py_ssize_t start) noexcept
