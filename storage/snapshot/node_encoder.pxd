# The C types of storage/snapshot/node_encoder.py.

from storage.redis_format.listpack_writer cimport ListpackWriter


cdef NodeEncoder _ENCODER

cdef long long _difference(unsigned long long number, unsigned long long base)


cdef class NodeEncoder:
    cdef ListpackWriter _listpack
    cdef Py_ssize_t _place
    cdef unsigned long long _ms
    cdef unsigned long long _seq
    cdef Py_ssize_t _start
    cdef Py_ssize_t _length

    cpdef bytes encode(self, object key, Py_ssize_t live, bytes payload)
    cdef Py_ssize_t _read_head(self, const unsigned char* data)
    cdef unsigned long long _read_number(self, const unsigned char* data)
    cdef _read_word(self, const unsigned char* data)
    cdef bint _has_names_of(
        self, const unsigned char* data, Py_ssize_t first, Py_ssize_t words
    )
    cdef _put_words(
        self, const unsigned char* data, Py_ssize_t words, bint names, bint values
    )
