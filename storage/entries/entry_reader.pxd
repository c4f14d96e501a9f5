# The C types of storage/entries/entry_reader.py.

from storage.raw_bytes cimport is_at


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
