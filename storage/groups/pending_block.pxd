# The C types of storage/groups/pending_block.py.

from cpython.array cimport array as Numbers, resize_smart
from libc.string cimport memmove
from storage.entries.entry_id cimport entry_id_t, EntryIDs, id_ms, id_seq, make_id
from storage.memory cimport array_bytes, dict_bytes, list_bytes


cdef class MemoryCounter:
    cdef readonly long total_bytes
    cdef MemoryCounter _whole

    cpdef add(self, long number)
    cpdef join(self, MemoryCounter whole)
    cpdef leave(self)


cdef long _OWN_BYTES
cdef long _SHARE_BYTES
cdef long _LARGE_COUNT_BYTES


cdef Py_ssize_t ROW_WORDS
cdef Py_ssize_t _SEQ
cdef Py_ssize_t _TIME
cdef Py_ssize_t _STATE
cdef int _SLOT_BITS
cdef unsigned long long _STRAY
cdef unsigned long long _COUNT_MASK
cdef unsigned long long _SLOT_MASK
cdef unsigned long long _NOT_SLOT


cdef class Owner:
    cdef public object name
    cdef public Py_ssize_t pending_count
    cdef public object pending_blocks
    cdef long _counted_bytes

    cpdef settle(self, MemoryCounter counter)
    cpdef leave(self, MemoryCounter counter)
    cdef _count(self, MemoryCounter counter, long size_bytes)


cdef class PendingEntries:
    pass


cdef class Share:
    cdef public Py_ssize_t count
    cdef public unsigned long long slot


cdef class Block:
    cdef public entry_id_t start
    cdef public bint is_last
    cdef public bint is_lent
    cdef public Numbers words
    cdef public list owners
    cdef public dict large_counts
    cdef public dict shares
    cdef readonly MemoryCounter counter
    cdef long _counted_bytes
    cdef long _tables_bytes

    cpdef leave(self)
    cdef _measure_tables(self)
    cdef _settle(self)
    cpdef own(self)
    cpdef Py_ssize_t place_of(self, entry_id_t entry_id) except -1
    cpdef Py_ssize_t find(self, entry_id_t entry_id) except? -1
    cpdef Py_ssize_t run_length(self, Py_ssize_t place, EntryIDs ids, Py_ssize_t start) except -1
    cpdef entry_id_t id_at(self, Py_ssize_t place)
    cpdef unsigned long long state_at(self, Py_ssize_t place)
    cpdef object owner_at(self, Py_ssize_t place)
    cdef Py_ssize_t _next(
        self, Py_ssize_t place, unsigned long long wanted, unsigned long long mask
    )
    cpdef put(
        self,
        Py_ssize_t place,
        EntryIDs ids,
        Py_ssize_t start,
        Py_ssize_t end,
        Owner owner,
        unsigned long long delivery_ms,
        bint are_strays,
    )
    cdef _make_gap(self, Py_ssize_t at, Py_ssize_t length)
    cdef unsigned long long _slot_of(self, Owner owner)
    cpdef cut(self, Py_ssize_t start, Py_ssize_t end)
    cpdef Share share(self, Owner owner, Py_ssize_t number)
    cdef Share _open_share(self, Owner owner)
    cpdef unshare(self, Owner owner, Py_ssize_t number)
    cpdef unshare_each(self, Py_ssize_t start, Py_ssize_t end)
    cpdef long memory_bytes(self)


cdef unsigned long long* _numbers(Block block)
