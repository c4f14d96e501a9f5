# The C types of storage/types/members/segment.py.

from storage.raw_bytes cimport move_bytes, put_bytes
from storage.types.members.memory cimport (
    allocated, clear, copy_record, drop, free_block, home_slot, keep_again, move_slots, new_block, number_at,
    put_number,
)
from storage.types.members.packed_record cimport LARGE, code_at, has_key_at, taken_bytes


cdef enum:
    SHARED = 0
    SIZE = 4
    END = 8
    COUNT = 12
    SLOTS = 16
    DEPTH = 20
    HEADER = 24
    PLACES = 0xFFFFFF

cdef Py_ssize_t _FEW
cdef Py_ssize_t _SOME
cdef Py_ssize_t _MOST
cdef Py_ssize_t _MOST_SLOTS

cdef unsigned char* new_segment(Py_ssize_t size, Py_ssize_t slots, Py_ssize_t depth) except NULL
cdef Py_ssize_t first_place(unsigned char* block) noexcept
cdef Py_ssize_t most_records(Py_ssize_t slots) noexcept
cdef Py_ssize_t slots_for(Py_ssize_t count) noexcept
cdef Py_ssize_t find(
    Py_ssize_t kind,
    unsigned char* block,
    const unsigned char* key,
    Py_ssize_t length,
    unsigned long long code,
) noexcept
cdef void enter(unsigned char* block, Py_ssize_t place, unsigned long long code) noexcept
cdef void leave(
    Py_ssize_t kind, unsigned char* block, Py_ssize_t place, unsigned long long code
) noexcept
cdef void shift(unsigned char* block, Py_ssize_t start, Py_ssize_t way) noexcept
cdef void remove(
    Py_ssize_t kind, unsigned char* block, Py_ssize_t place, unsigned long long code
) noexcept
cdef void take(
    unsigned char* block, unsigned char* source, Py_ssize_t place, unsigned long long code
) noexcept
cdef void take_all(Py_ssize_t kind, unsigned char* block, unsigned char* source) noexcept
cdef Py_ssize_t memory_of(unsigned char* block) noexcept
cdef void share(unsigned char* block) noexcept
cdef unsigned char* twin_of(unsigned char* block, Py_ssize_t size) except NULL
cdef void give_up(unsigned char* block) noexcept
