# The C types of storage/groups/lag.py.

from storage.groups.group cimport Group
from storage.stream cimport Stream


cpdef advance_group(Stream stream, Group group, list ids)
cpdef bint has_tombstone_after(Stream stream, object entry_id) except -1
