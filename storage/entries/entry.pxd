# The C types of storage/entries/entry.py.

from cpython.array cimport array
from storage.redis_format.listpack_elements cimport digits_of, put_decimal
from storage.entries.entry_id cimport numbers_of
from storage.memory cimport bytes_object_bytes, is_at, list_bytes, put_bytes


cdef list _FIELDS_HEADERS


cpdef bytes encode_id_parts(unsigned long long ms, unsigned long long seq)
cpdef bytes fields_header(Py_ssize_t words)


cdef class EntryReader:
    cdef object entries
    cdef const unsigned char* _data
    cdef readonly Py_ssize_t end
    cdef public Py_ssize_t place
    cdef readonly unsigned long long ms
    cdef readonly unsigned long long seq
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t length

    cpdef load(self, object entries, Py_ssize_t end=*)
    cpdef Py_ssize_t read_head(self) noexcept
    cpdef void read_word(self) noexcept
    cdef unsigned long long _read_number(self) noexcept
    cpdef bint pass_over(self, bytes text) noexcept


cdef EntryReader _READER
cdef bytes _ENTRY_START
cdef bytes _CRLF
cdef long _OWN_BYTES


cdef class Frame:
    cdef Py_ssize_t _words
    cdef readonly list names
    cdef list _names
    cdef bytes _count
    cdef long _memory_bytes

    cpdef Py_ssize_t strip(
        self, object first_id, bytearray text, Py_ssize_t size, bytearray room
    )
    cdef Py_ssize_t _put_values(
        self, bytearray text, EntryReader reader, unsigned char* out, Py_ssize_t end
    ) noexcept
    cpdef long memory_bytes(self)
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


cdef bytes _HEX_DIGITS


cdef class FieldRow:
    cdef readonly list names
    cdef readonly Py_ssize_t width
    cdef readonly Py_ssize_t size
    cdef readonly bint is_plain
    cdef const unsigned char* text
    cdef bytearray _memory
    cdef unsigned char* _out
    cdef array _start_numbers
    cdef array _length_numbers
    cdef array _column_numbers
    cdef unsigned long long* starts
    cdef unsigned long long* lengths
    cdef unsigned long long* _columns
    cdef Py_ssize_t _differing
    cdef bint _is_number

    cpdef void fill(
        self, const unsigned char* packed, Py_ssize_t count, Py_ssize_t place
    ) noexcept
