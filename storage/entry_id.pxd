# The C types of storage/entry_id.py.

cpdef object parse_plain_id(bytes text)
