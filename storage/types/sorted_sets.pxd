# The C types of storage/types/sorted_sets.py.

from storage.types.prefetch cimport prefetch
