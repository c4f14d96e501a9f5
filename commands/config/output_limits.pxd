# The C types of commands/config/output_limits.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance


cdef long _LIMITED_GATES

cpdef bint is_unlimited(Client client)
cpdef object output_room_bytes(Client client)
