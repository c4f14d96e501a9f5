# The C types of storage/groups/lag.py.

from storage.entries.entry_id cimport entry_id_t, EntryIDs
from storage.groups.group cimport Group
from storage.stream cimport Stream


cdef entry_id_t MIN_ID
cdef long long UNKNOWN

cpdef advance_group(Stream stream, Group group, EntryIDs ids)
cpdef bint has_tombstone_after(Stream stream, entry_id_t entry_id) except -1
