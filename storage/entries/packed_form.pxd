# The C types of storage/entries/packed_form.py.

from libc.string cimport memcmp
from storage.memory cimport bytes_object_bytes, list_bytes


cdef bytes _VALUES

cdef bytes _pack_numbers(
    bytes payload,
    Py_ssize_t length,
    bytes head,
    Py_ssize_t middle_at,
    bytes middle,
    bytes end,
)

cdef long _SHAPE_BYTES
cdef long _names_bytes(list[bytes] names)
