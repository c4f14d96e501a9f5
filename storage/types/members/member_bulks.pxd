# What storage/types/members/member_bulks.py says, in C.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from protocol.replies cimport bulk_size, put_text
from storage.types.members.key_part cimport KEYS, VALUES, key_length, key_start
from storage.types.members.packed_record cimport body_size, body_start, body_text, taken_bytes
from storage.types.members.segment cimport COUNT, END, HEADER, SLOTS
from storage.types.members.memory cimport number_at


cdef inline bytes new_bytes(Py_ssize_t size):
    return PyBytes_FromStringAndSize(NULL, size)


cdef inline bytes bulk_at(const unsigned char* text, Py_ssize_t start, Py_ssize_t size):
    made = PyBytes_FromStringAndSize(NULL, bulk_size(size))
    put_text(PyBytes_AS_STRING(made), <const char*> text + start, size)
    return made


cdef inline Py_ssize_t bulks_bytes(
    Py_ssize_t kind, const unsigned char* block, int parts
) noexcept:
    cdef Py_ssize_t place = HEADER + 4 * number_at(block, SLOTS)
    cdef Py_ssize_t end = number_at(block, END)
    cdef Py_ssize_t total = 0
    cdef Py_ssize_t at, start, length, size
    cdef const unsigned char* text
    while place < end:
        text = body_text(block, place)
        at = body_start(block, place)
        size = body_size(block, place)
        start = key_start(kind, text, at)
        length = key_length(kind, text, at, size, start)
        if parts & KEYS:
            total += bulk_size(length)
        if parts & VALUES:
            total += bulk_size(at + size - start - length)
        place += taken_bytes(block, place)
    return total


cdef inline Py_ssize_t put_bulks(
    Py_ssize_t kind, unsigned char* out, Py_ssize_t to, const unsigned char* block, int parts
) noexcept:
    cdef Py_ssize_t place = HEADER + 4 * number_at(block, SLOTS)
    cdef Py_ssize_t end = number_at(block, END)
    cdef char* begin = <char*> out
    cdef char* behind = begin + to
    cdef Py_ssize_t at, start, length, size
    cdef const unsigned char* text
    while place < end:
        text = body_text(block, place)
        at = body_start(block, place)
        size = body_size(block, place)
        start = key_start(kind, text, at)
        length = key_length(kind, text, at, size, start)
        if parts & KEYS:
            behind = put_text(behind, <const char*> text + start, length)
        if parts & VALUES:
            behind = put_text(
                behind, <const char*> text + start + length, at + size - start - length
            )
        place += taken_bytes(block, place)
    return behind - begin
