# The C types of storage/entries/frame.py.

from storage.decimals cimport digits_of, put_decimal
from storage.entries.entry_reader cimport EntryReader
from storage.object_size cimport bytes_object_bytes, list_bytes
from storage.raw_bytes cimport is_at, put_bytes


cdef EntryReader _READER
cdef bytes _HEADER
cdef bytes _CRLF
cdef long long _OWN_BYTES


cdef class Frame:
    cdef Py_ssize_t _words
    cdef readonly list names
    cdef list _names
    cdef bytes _count
    cdef long long _memory_bytes

    cpdef Py_ssize_t strip(
        self, object first_id, bytearray text, Py_ssize_t size, bytearray room
    )
    cdef Py_ssize_t _put_values(
        self, bytearray text, EntryReader reader, unsigned char* out, Py_ssize_t end
    ) noexcept
    cpdef long long memory_bytes(self)
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
