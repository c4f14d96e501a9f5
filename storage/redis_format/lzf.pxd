# The C types of storage/redis_format/lzf.py.

cdef Py_ssize_t _MAX_LITERALS
cdef Py_ssize_t _MAX_REPEAT


cdef class _Output:
    cdef bytearray _memory
    cdef unsigned char* _out
    cdef Py_ssize_t _end
    cdef public Py_ssize_t place

    cpdef bytes content(self)
    cpdef rewrite(self, bytes packed)
    cpdef put_literals(self, const unsigned char* data, Py_ssize_t position, Py_ssize_t count)
    cdef _put_repeat(self, Py_ssize_t count, Py_ssize_t distance)
    cpdef bint expand(self, bytes blob)
    cdef _copy(
        self, const unsigned char* data, Py_ssize_t position, Py_ssize_t count
    )
    cdef _repeat(self, Py_ssize_t distance, Py_ssize_t count)
