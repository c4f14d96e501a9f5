# The C types of storage/sorted_sets.py.

from storage.prefetch cimport prefetch_item, prefetch_pair
