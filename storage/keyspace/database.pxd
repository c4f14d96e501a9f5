# The C types of storage/keyspace/database.py.

cdef class Database:
    cdef dict __dict__
    cdef public Py_ssize_t index
    cdef public dict values
    cdef public dict expires
