# The C types of storage/entries/entry_id.py.

cpdef object parse_plain_id(bytes text)
