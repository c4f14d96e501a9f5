# The C types of storage/groups/delivery_latency.py.

from cpython.array cimport array

from storage.entries.entry_ids cimport EntryIDs, numbers_of


cdef long long _FIRST_TIME_MS
cdef long long _AHEAD_MS
cdef int _LAST


cdef class DeliveryLatency:
    cdef array _counts
    cdef readonly long long total_ms

    cpdef observe(self, EntryIDs ids, long long now_ms)
    cdef bint _observe_alike(self, EntryIDs ids, Py_ssize_t count, long long now_ms) except -1
    cdef _observe_each(self, EntryIDs ids, Py_ssize_t count, long long now_ms)


cdef int _bucket(long long waited_ms) except? -1
