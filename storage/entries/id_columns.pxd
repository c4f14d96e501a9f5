# The C types of storage/entries/id_columns.py.

from cpython.array cimport array as Numbers

from storage.entries.entry_id cimport id_ms, id_seq


cdef Numbers _ELAPSED_MS
cdef Numbers _SEQS

cdef _split(unsigned long long base_ms, list ids)
cdef unsigned long long* _elapsed_ms()
cdef unsigned long long* _seqs()
cdef object _column_of(unsigned long long* numbers, Py_ssize_t count)
