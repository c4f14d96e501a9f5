# The C types of protocol/slots.py.

cdef unsigned int _MASK
cdef unsigned short _REMAINDERS[256]

cpdef unsigned int key_slot(bytes key)
