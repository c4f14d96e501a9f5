# The C types of storage/keyspace/ordered_index.py.

from storage.memory cimport dict_bytes, int_object_bytes, list_bytes, set_bytes


cdef class Chance:
    cdef unsigned long long _state

    cpdef Py_ssize_t below(self, Py_ssize_t limit)


cdef long _OWN_BYTES


cdef class OrderedIndex:
    cdef public list _blocks
    cdef public list _bounds
    cdef public set _unsorted
    cdef Py_ssize_t _length
    cdef long _full_bytes
    cdef public object _top
    cdef public dict _recent
    cdef public object _recent_start
    cdef public object _recent_end

    cpdef object get(self, object key)
    cpdef append(self, object key, object item)
    cpdef object pop(self, object key, object default=*)
    cpdef long memory_bytes(self)
    cdef dict _find(self, object key)
    cdef dict _open_block(self, object bound)
    cpdef object random_key(self, Chance chance)


cdef extern from *:
    """
    /* The key in a slot of a dict, in the order of insertion; None in a free one. */
    static inline PyObject* rillway_key_in_slot(PyObject* block, Py_ssize_t slot) {
        PyObject *key, *item;
        Py_ssize_t position = slot;
        if (!PyDict_Next(block, &position, &key, &item) || position != slot + 1)
            key = Py_None;
        return Py_NewRef(key);
    }
    """
    object key_in_slot "rillway_key_in_slot"(dict block, Py_ssize_t slot)
