# The C types of storage/keyspace/key_table.py.

from storage.keyspace.key_records cimport (
    Keys,
    code_of_key,
    entries,
    exists,
    find,
    find_serial,
    free_record,
    key_of,
    new_keys,
    record_in,
    slots,
    span,
)
from storage.keyspace.packing cimport (
    bytes_of,
    counted_of,
    forget_all,
    free_all,
    hold,
    has_object,
    let_go,
    new_record,
    take_back,
    take_segment,
    value_of,
    weigh,
)
from storage.types.value cimport Keeper, Value


cdef class KeyTable(Keeper):
    cdef Keys* _keys
    cdef readonly long record_bytes
    cdef readonly Py_ssize_t count

    cpdef Value get(self, bytes key)
    cpdef Value held(self, bytes key)
    cpdef bytes key_at(self, unsigned long long code, long serial)
    cpdef put(self, bytes key, Value value)
    cpdef Value pop(self, bytes key)
    cdef settle(self, Value value)
    cdef give_back(self, Value value)
    cpdef long memory_bytes(self) noexcept
