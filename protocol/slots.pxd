# The C types of protocol/slots.py.

cdef unsigned int _MASK
cdef unsigned short _REMAINDERS[256]

cpdef unsigned int key_slot(bytes key)
cpdef unsigned int slot_of_part(const unsigned char* data, Py_ssize_t start, Py_ssize_t end)
