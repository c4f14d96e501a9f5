# The C types of protocol/replies.py.

from libc.string cimport memcpy
from protocol.python_api cimport (
    PyBytes_AS_STRING,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
    PyList_GET_ITEM,
    PyList_GET_SIZE,
)


cdef inline char* put_digits(char* end, long number) noexcept:
    """Write a number before `end`; where it begins."""
    # -2^63 has no positive counterpart; the subtraction of unsigned numbers is defined.
    cdef unsigned long long size = 0ULL - <unsigned long long> number if number < 0 else number
    while True:
        end -= 1
        end[0] = <char> (48 + size % 10)
        size //= 10
        if not size:
            break
    if number < 0:
        end -= 1
        end[0] = 45
    return end

cdef inline char* put_line(char* end, int sign, long number) noexcept:
    """Write a sign, a number and the end of the line before `end`; where they begin."""
    end -= 2
    memcpy(end, b"\r\n", 2)
    end = put_digits(end, number) - 1
    end[0] = <char> sign
    return end

cdef inline bytes make_line(int sign, long number):
    """A sign, a number and the end of the line."""
    cdef char text[24]
    cdef char* start = put_line(text + 24, sign, number)
    return PyBytes_FromStringAndSize(start, text + 24 - start)

cdef inline char* put_text(char* out, const char* text, Py_ssize_t size) noexcept:
    """Write a bulk string, for which there is room; the place after it."""
    cdef char line[24]
    cdef char* start = put_line(line + 24, 36, size)  # $
    memcpy(out, start, line + 24 - start)
    out += line + 24 - start
    memcpy(out, text, size)
    memcpy(out + size, b"\r\n", 2)
    return out + size + 2

cdef inline char* put_bulk(char* out, bytes value) noexcept:
    """Write a bulk string, for which there is room; the place after it."""
    return put_text(out, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))

cdef inline Py_ssize_t bulk_size(Py_ssize_t size) noexcept:
    """The bytes that a value of `size` bytes takes as a bulk string."""
    cdef Py_ssize_t total = size + 6
    while size >= 10:
        size //= 10
        total += 1
    return total

cdef inline bytes make_bulk(bytes value):
    """A bulk string."""
    made = PyBytes_FromStringAndSize(NULL, bulk_size(PyBytes_GET_SIZE(value)))
    put_bulk(PyBytes_AS_STRING(made), value)
    return made

cdef inline bytes make_bulks(bytes head, list values):
    """Bulk strings, one after the other, after a line."""
    cdef Py_ssize_t total = PyBytes_GET_SIZE(head)
    cdef Py_ssize_t index
    cdef char* out
    cdef bytes value
    for index in range(PyList_GET_SIZE(values)):
        value = <object> PyList_GET_ITEM(values, index)
        total += bulk_size(len(value))
    made = PyBytes_FromStringAndSize(NULL, total)
    out = PyBytes_AS_STRING(made)
    memcpy(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    out += PyBytes_GET_SIZE(head)
    for index in range(PyList_GET_SIZE(values)):
        out = put_bulk(out, <bytes> PyList_GET_ITEM(values, index))
    return made

cdef inline bytes make_joined(list parts):
    """Texts, one after the other."""
    cdef Py_ssize_t total = 0
    cdef Py_ssize_t index
    cdef char* out
    cdef bytes part
    for index in range(PyList_GET_SIZE(parts)):
        part = <object> PyList_GET_ITEM(parts, index)
        total += len(part)
    made = PyBytes_FromStringAndSize(NULL, total)
    out = PyBytes_AS_STRING(made)
    for index in range(PyList_GET_SIZE(parts)):
        part = <bytes> PyList_GET_ITEM(parts, index)
        memcpy(out, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
        out += PyBytes_GET_SIZE(part)
    return made

cdef inline bytes make_filled(list texts, Py_ssize_t size, tuple values):
    """Texts with values between them; `size`: that of the texts."""
    cdef Py_ssize_t count = len(values)
    cdef Py_ssize_t index
    cdef char line[24]
    cdef char* start
    cdef char* out
    cdef long number
    if count != len(texts) - 1:
        raise ValueError("as many values as places are needed")
    for value in values:
        # At most a sign and 19 digits.
        size += len(<bytes> value) if type(value) is bytes else 20
    made = PyBytes_FromStringAndSize(NULL, size)
    out = PyBytes_AS_STRING(made)
    for index in range(count + 1):
        text = <bytes> texts[index]
        memcpy(out, PyBytes_AS_STRING(text), len(text))
        out += len(text)
        if index == count:
            break
        value = values[index]
        if type(value) is bytes:
            memcpy(out, PyBytes_AS_STRING(<bytes> value), len(<bytes> value))
            out += len(<bytes> value)
        else:
            number = value
            start = put_digits(line + 24, number)
            memcpy(out, start, line + 24 - start)
            out += line + 24 - start
    size = out - PyBytes_AS_STRING(made)
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(made), size)

cdef extern from *:
    """
    #include <math.h>

    /* The most that a double takes in decimal. */
    #define DOUBLE_BYTES 32

    /* Writes a double in the form of format_double() if that is the same as Python's, and simple:
       whole numbers, and fractions near to 1. How long it is, 0 if it is neither, -1 on an error. */
    static Py_ssize_t put_plain_double(char* out, double value) {
        double size = fabs(value);
        if (size <= 4611686018427387904.0 && (double) (long) value == value) {
            unsigned long long number = (unsigned long long) size;
            char digits[24];
            Py_ssize_t place = 24, length;
            do { digits[--place] = '0' + number % 10; number /= 10; } while (number);
            if (signbit(value)) digits[--place] = '-';
            length = 24 - place;
            memcpy(out, digits + place, length);
            return length;
        }
        if (size >= 0.001 && size < 10000.0) {
            char* text = PyOS_double_to_string(value, 'r', 0, 0, NULL);
            Py_ssize_t length;
            if (text == NULL) return -1;
            length = strlen(text);
            memcpy(out, text, length);
            PyMem_Free(text);
            return length;
        }
        return 0;
    }
    """
    const Py_ssize_t DOUBLE_BYTES
    Py_ssize_t put_plain_double(char* out, double value) except -1

cdef inline bytes make_plain_double(double value):
    """The text of a double, None if its form is not simple."""
    cdef char text[DOUBLE_BYTES]
    cdef Py_ssize_t size = put_plain_double(text, value)
    return PyBytes_FromStringAndSize(text, size) if size else None


cdef class Form:
    cdef list _texts
    cdef Py_ssize_t _size

    cpdef bytes fill(self, tuple values)


cdef tuple _SMALL_INTEGERS
cdef Py_ssize_t _FEW_BULKS
cdef int _COLON
cdef int _STAR

cdef bytes _after(bytes head, object values)

cpdef bytes joined(list[bytes] parts)
cpdef bytes integer(long value)
cpdef bytes bulk(bytes value)
cpdef bytes bulk_or_nil(bytes value, long resp)
cpdef bytes array_header(long length)
cpdef bytes array(object items)
cpdef bytes bulk_array(object values)
cpdef bytes bulks(object values)
cpdef bytes format_double(double value)
cpdef bytes map_header(long pairs, long resp)
cpdef bytes set_header(long length, long resp)
