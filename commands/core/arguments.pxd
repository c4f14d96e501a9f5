# The C types of commands/core/arguments.py.

from storage.redis_format.listpack_size cimport plain_integer


cpdef long long parse_int(
    bytes text, bytes error=*, long long minimum=*, long long maximum=*
) except? -1
