# The C types of storage/entries/entry_ids.py.

from cpython.array cimport array

from storage.entries.entry_id cimport PlainID, entry_id_t, id_ms, id_seq, make_id


cdef PlainID _PLAIN_ID


cdef class EntryIDs:
    cdef readonly Py_ssize_t count
    cdef array _numbers

    cpdef clear(self)
    cpdef cut(self, Py_ssize_t count)
    cpdef add(self, entry_id_t entry_id)
    cpdef bint add_plain(self, bytes text) except -1
    cpdef extend(self, object ids)
    cpdef entry_id_t at(self, Py_ssize_t place) noexcept


cdef inline unsigned long long* pointer_to(object numbers) noexcept:
    """The numbers of an array."""
    return (<array> numbers).data.as_ulonglongs


cdef unsigned long long* numbers_of(object numbers) noexcept
