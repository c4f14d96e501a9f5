# The C types of storage/nodes/frozen_node.py.

from protocol.python_api cimport PyObject
from storage.entries.entry_id cimport column_bytes, entry_id_t, EntryIDs, NodeIDs
from storage.memory cimport bytearray_bytes, bytes_object_bytes


cdef long _OWN_BYTES
cdef long _LOSSES_BYTES
cdef long _ID_BYTES


cdef class _Losses:
    cdef public Py_ssize_t deleted
    cdef public object lost_end
    cdef public Py_ssize_t entries_bytes
    cdef public bytearray alive

    cpdef _Losses copy(self)


cdef class FrozenNode:
    cdef public object key
    cdef public Py_ssize_t live
    cdef public object _shape
    cdef public Py_ssize_t _length
    cdef public object _lengths
    cdef public object form
    cdef public bytes blob
    cdef public NodeIDs ids
    cdef public Py_ssize_t size_bytes
    cdef public _Losses _losses
    cdef public bytes opened
    cdef public bint was_read
    cdef public bint _is_turned

    cpdef bytearray alive(self)
    cpdef bytes copied_blob(self)
    cpdef long memory_bytes(self)
    cdef Py_ssize_t _low(self, entry_id_t start) except -1
    cdef Py_ssize_t _high(self, Py_ssize_t low, object end, Py_ssize_t limit)
    cpdef Py_ssize_t _offset(self, Py_ssize_t place)
    cdef bytes _opened_part(self, Py_ssize_t low, Py_ssize_t high)
    cpdef tuple select(self, object start, object end, Py_ssize_t limit)
    cpdef list read_from(self, EntryIDs ids, entry_id_t start, Py_ssize_t limit)
    cpdef add_ids_to(self, EntryIDs ids, object start, object end, Py_ssize_t limit)


cdef extern from "Python.h":
    Py_ssize_t size_of "Py_SIZE"(PyObject* thing)


cdef inline Py_ssize_t blob_size(FrozenNode node) noexcept:
    """The number of bytes of a node's blob; len() would count a reference meanwhile."""
    return size_of(<PyObject*> node.blob)
