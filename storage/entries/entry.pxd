# The C types of storage/entries/entry.py.

cdef list _FIELDS_HEADERS

cpdef bytes encode_id_parts(unsigned long long ms, unsigned long long seq)
cpdef bytes fields_header(Py_ssize_t words)
