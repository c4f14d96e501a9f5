# The C types of storage/types/value.py.

from storage.memory cimport bytearray_bytes, bytes_object_bytes
from storage.redis_format.listpack_elements cimport plain_integer


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


cdef long long _OWN_BYTES


cdef class StringValue(Value):
    cdef public object data
    cdef public object _encoding

    cpdef bytes to_bytes(self)
    cpdef replace(self, bytes data, bytes encoding=*)
