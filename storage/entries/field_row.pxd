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
    cdef array _starts
    cdef array _lengths
    cdef array _columns
    cdef Py_ssize_t _differing
    cdef bint _is_number

    cdef bint _are_in_values(self)
    cpdef void fill(
        self, const unsigned char* packed, Py_ssize_t count, Py_ssize_t place
    ) noexcept
    cpdef Py_ssize_t start(self, Py_ssize_t value) noexcept
    cpdef Py_ssize_t length(self, Py_ssize_t value) noexcept
