# The C types of storage/types/value.py.

from storage.redis_format.listpack_size cimport plain_integer


cdef class Value:
    cdef public long long access_ms
    cdef public long long serial
    cdef public long long counted_bytes
    cdef public bint has_changed
    cdef public unsigned char frequency

    cpdef object first_deadline_ms(self)
    cpdef use_cache(self, object cache)
    cpdef long long memory_bytes(self)


cpdef object as_int64(bytes text)
