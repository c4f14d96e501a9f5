# The C types of storage/entries/entry.py.

cpdef bytes encode_id_parts(unsigned long long ms, unsigned long long seq)
cpdef bytes encode_entry(bytes id_bulk, bytes fields, Py_ssize_t words)
