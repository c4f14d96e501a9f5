# The C types of storage/entries/id_columns.py.

cimport cython
from storage.entries.entry_id cimport entry_id_t, id_ms, id_seq, make_id
from storage.entries.entry_ids cimport EntryIDs, numbers_of
from storage.object_size cimport array_bytes, bytes_object_bytes


cdef long long _COLUMNS_BYTES


cdef class NodeIDs:
    cdef public Py_ssize_t count

    cpdef entry_id_t at(self, entry_id_t key, Py_ssize_t place)
    cpdef Py_ssize_t place(self, entry_id_t key, entry_id_t entry_id) except -1
    cpdef add_to(self, EntryIDs ids, entry_id_t key, Py_ssize_t low, Py_ssize_t high)
    cpdef list between(self, entry_id_t key, Py_ssize_t low, Py_ssize_t high)
    cpdef long long memory_bytes(self)


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


cpdef long long column_bytes(object numbers)
cdef bint _is_run(
    unsigned long long* numbers, Py_ssize_t first, Py_ssize_t count, unsigned long long step
)
cdef object _column_of(
    unsigned long long* numbers, Py_ssize_t first, Py_ssize_t count, unsigned long long base
)
