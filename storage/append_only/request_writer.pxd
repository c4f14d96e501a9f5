# The C types of storage/append_only/request_writer.py.

from storage.redis_format.listpack_elements cimport digits_of, put_decimal
from storage.entries.id_number cimport entry_id_t, id_ms, id_seq


cdef Py_ssize_t _ROOM_BYTES
cdef Py_ssize_t _KEPT_BYTES
cdef int _STAR
cdef int _DOLLAR
cdef int _MINUS
cdef int _CR
cdef int _LF


cdef extern from *:
    """
    #include <string.h>

    /* Bytes within a buffer, which has room for them. */
    static inline void rillway_write_bytes(PyObject* buffer, Py_ssize_t at, PyObject* text) {
        memcpy(PyByteArray_AS_STRING(buffer) + at, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text));
    }

    static inline PyObject* rillway_bytes_of(PyObject* buffer, Py_ssize_t place, Py_ssize_t size) {
        return PyBytes_FromStringAndSize(PyByteArray_AS_STRING(buffer) + place, size);
    }

    static inline void rillway_shift_bytes(
        PyObject* buffer, Py_ssize_t start, Py_ssize_t to, Py_ssize_t size
    ) {
        char* text = PyByteArray_AS_STRING(buffer);
        memmove(text + to, text + start, size);
    }
    """
    void put_bytes "rillway_write_bytes"(bytearray buffer, Py_ssize_t at, bytes text) noexcept
    bytes bytes_of "rillway_bytes_of"(bytearray buffer, Py_ssize_t place, Py_ssize_t size)
    void move_bytes "rillway_shift_bytes"(
        bytearray buffer, Py_ssize_t start, Py_ssize_t to, Py_ssize_t size
    ) noexcept


cdef class RequestWriter:
    cdef bytearray _buffer
    cdef readonly Py_ssize_t end

    cpdef request(self, object words)
    cpdef begin(self, unsigned long long words)
    cpdef word(self, bytes text)
    cpdef encoded(self, bytes words)
    cpdef number(self, unsigned long long value)
    cpdef entry_id(self, entry_id_t entry_id)
    cpdef bytes take(self, Py_ssize_t size)
    cpdef bytes cut(self, Py_ssize_t place)
    cpdef insert(self, Py_ssize_t place, bytes words)
    cdef bytes _copy(self, Py_ssize_t place, Py_ssize_t size)
    cdef _move(self, Py_ssize_t start, Py_ssize_t to, Py_ssize_t size)
    cdef _frame(self, int sign, unsigned long long number)
    cdef _end_line(self, Py_ssize_t place)
    cdef _reserve(self, Py_ssize_t size)
