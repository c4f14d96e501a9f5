# The C types of server/tls/transport.py.

cdef Py_ssize_t _RECORD_BYTES


cdef class EncryptedTransport:
    cdef object __weakref__
    cdef object _context
    cdef object _make_client
    cdef object _handshake
    cdef object _enqueue
    cdef bytes _waiting
    cdef object _incoming
    cdef object _outgoing
    cdef object _ssl
    cdef object _socket
    cdef object _client
    cdef bint _has_ended
    cdef bint _is_kept

    cpdef write(self, bytes data)
    cdef _receive(self, bytes data)
    cdef list _decrypted(self, data)
    cdef _shake_hands(self)
    cdef _send(self)
    cdef _end(self)
