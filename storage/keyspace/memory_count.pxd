# The C types of storage/keyspace/memory_count.py.

from storage.types.value cimport Value


cdef class MemoryCount:
    cdef public long long bytes
    cdef readonly list _noted

    cpdef note(self, Value value)
    cpdef settle(self)
    cpdef add(self, Value value, long long key_bytes)
    cpdef exchange(self, Value old, Value new)
    cpdef subtract(self, Value value, long long key_bytes)
    cdef _forget(self, Value value)
    cdef _drop(self, Value value)
    cdef _settle_older(self, Py_ssize_t recent)
