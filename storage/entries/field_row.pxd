# The C types of storage/entries/field_row.py.

from cpython.array cimport array

from storage.entries.entry_ids cimport numbers_of
from storage.entries.entry_reader cimport EntryReader


cdef EntryReader _READER
cdef bytes _DIGITS


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
