# The C types of storage/entries/frame.py.

from storage.decimals cimport digits_of, put_decimal
from storage.entries.entry_reader cimport EntryReader
from storage.raw_bytes cimport is_at, put_bytes


cdef EntryReader _READER
cdef bytes _HEADER
cdef bytes _CRLF


cdef class Frame:
    cdef Py_ssize_t _words
    cdef readonly list names
    cdef list _names
    cdef bytes _count

    cpdef Py_ssize_t strip(
        self, object first_id, bytearray text, Py_ssize_t size, bytearray room
    )
    cdef Py_ssize_t _put_values(
        self, bytearray text, EntryReader reader, unsigned char* out, Py_ssize_t end
    ) noexcept
    cpdef bytes build(self, object first_id, bytes stripped, Py_ssize_t count, Py_ssize_t size)


cdef class Numbers:
    cdef bytes _text
    cdef const unsigned char* _data
    cdef public Py_ssize_t place

    cdef unsigned long long next(self) noexcept
    cdef void pass_over(self, Py_ssize_t count) noexcept


cdef Py_ssize_t _put_number(
    unsigned char* out, Py_ssize_t place, unsigned long long number
) noexcept
