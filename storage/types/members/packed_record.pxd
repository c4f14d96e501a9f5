# What storage/types/members/packed_record.py says, in C.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcmp

from storage.types.members.key_part cimport hash_at, key_length, key_start
from storage.types.members.memory cimport bytes_at, kept


cdef enum:
    LARGE = 255
    LARGE_BYTES = 9


cdef inline Py_ssize_t taken_bytes(const unsigned char* block, Py_ssize_t place) noexcept:
    return 1 + block[place] if block[place] != LARGE else LARGE_BYTES


cdef inline const unsigned char* body_text(const unsigned char* block, Py_ssize_t place) noexcept:
    if block[place] != LARGE:
        return block
    return <const unsigned char*> PyBytes_AS_STRING(kept(block, place + 1))


cdef inline Py_ssize_t body_start(const unsigned char* block, Py_ssize_t place) noexcept:
    return place + 1 if block[place] != LARGE else 0


cdef inline Py_ssize_t body_size(const unsigned char* block, Py_ssize_t place) noexcept:
    return block[place] if block[place] != LARGE else PyBytes_GET_SIZE(kept(block, place + 1))


cdef inline bytes body_of(const unsigned char* block, Py_ssize_t place):
    if block[place] != LARGE:
        return bytes_at(block, place + 1, block[place])
    return kept(block, place + 1)


cdef inline unsigned long long code_at(
    Py_ssize_t kind, const unsigned char* block, Py_ssize_t place
) noexcept:
    cdef const unsigned char* text = body_text(block, place)
    cdef Py_ssize_t at = body_start(block, place)
    cdef Py_ssize_t start = key_start(kind, text, at)
    return hash_at(text, start, key_length(kind, text, at, body_size(block, place), start))


cdef inline bint has_key_at(
    Py_ssize_t kind,
    const unsigned char* block,
    Py_ssize_t place,
    const unsigned char* wanted,
    Py_ssize_t length,
) noexcept:
    cdef const unsigned char* text = body_text(block, place)
    cdef Py_ssize_t at = body_start(block, place)
    cdef Py_ssize_t start = key_start(kind, text, at)
    return (
        key_length(kind, text, at, body_size(block, place), start) == length
        # Keys that begin alike end differently: most others are recognised by their last byte.
        and (length == 0 or text[start + length - 1] == wanted[length - 1])
        and memcmp(text + start, wanted, length) == 0
    )
