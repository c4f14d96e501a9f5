# The C types of storage/keyspace/ordered_index.py.

cdef class OrderedIndex:
    cdef public list _blocks
    cdef public list _bounds
    cdef public set _unsorted
    cdef Py_ssize_t _length
    cdef public object _top
    cdef public dict _recent
    cdef public object _recent_start
    cdef public object _recent_end

    cpdef object get(self, object key)
    cpdef append(self, object key, object item)
    cpdef object pop(self, object key, object default=*)
    cpdef long long memory_bytes(self)
    cdef dict _find(self, object key)
    cdef dict _open_block(self, object bound)
