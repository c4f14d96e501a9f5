# The C types of storage/entries/entry_id.py.

cimport cython
from cpython.array cimport array
from storage.entries.id_number cimport entry_id_t
from storage.memory cimport array_bytes, bytes_object_bytes



cdef unsigned long long _LAST_SEQ
cdef Py_ssize_t _PLAIN_DIGITS
cdef PlainID _PLAIN_ID


cdef class PlainID:
    cdef readonly unsigned long long ms
    cdef readonly unsigned long long seq

    cpdef bint read(self, bytes text)


cpdef object parse_plain_id(bytes text)
@cython.locals(entry_id=entry_id_t)
cpdef entry_id_t make_id(unsigned long long ms, unsigned long long seq) noexcept
cpdef unsigned long long id_ms(entry_id_t entry_id) noexcept
cpdef unsigned long long id_seq(entry_id_t entry_id) noexcept


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


cdef long _COLUMNS_BYTES


cdef class NodeIDs:
    cdef public Py_ssize_t count

    cpdef entry_id_t at(self, entry_id_t key, Py_ssize_t place)
    cpdef Py_ssize_t place(self, entry_id_t key, entry_id_t entry_id) except -1
    cpdef add_to(self, EntryIDs ids, entry_id_t key, Py_ssize_t low, Py_ssize_t high)
    cpdef list between(self, entry_id_t key, Py_ssize_t low, Py_ssize_t high)
    cpdef long memory_bytes(self)


cdef class IDProgression(NodeIDs):
    cdef entry_id_t _offset
    cdef readonly entry_id_t step

    @cython.locals(first=entry_id_t, place=entry_id_t, count=entry_id_t)
    cpdef Py_ssize_t place(self, entry_id_t key, entry_id_t entry_id) except -1
    @cython.locals(entry_id=entry_id_t)
    cpdef add_to(self, EntryIDs ids, entry_id_t key, Py_ssize_t low, Py_ssize_t high)


cdef class IDColumns(NodeIDs):
    cdef object _ms
    cdef object _seq


cpdef long column_bytes(object numbers)
cdef bint _is_run(
    unsigned long long* numbers, Py_ssize_t first, Py_ssize_t count, unsigned long long step
)
cdef object _column_of(
    unsigned long long* numbers, Py_ssize_t first, Py_ssize_t count, unsigned long long base
)
