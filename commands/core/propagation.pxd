# The C types of commands/core/propagation.py.

from storage.append_only.request_writer cimport RequestWriter


cdef class Propagation:
    cdef public list sinks
    cdef public long units
    cdef public long offset
    cdef public bint feeds_stream
    cdef public long held
    cdef public long depth
    cdef public Py_ssize_t requests
    cdef RequestWriter _writer
    cdef Py_ssize_t _first_db
    cdef bint _has_begun
    cdef Py_ssize_t _counted
    cdef Py_ssize_t _start
    cdef Py_ssize_t _db_before
    cdef Py_ssize_t _db
    cdef bint _is_transaction
    cdef Py_ssize_t _request_start
    cdef object _parts

    cpdef RequestWriter begin(self, Py_ssize_t db_index)
    cpdef add(self, Py_ssize_t db_index, object words)
    cpdef end_unit(self)
    cpdef drop(self)
    cpdef hand_over(self)
    cdef _select(self, Py_ssize_t db_index)
    cdef _make_transaction(self)
    cdef _count(self)
