# The C types of storage/types/packed_table.py.

from storage.memory cimport is_at, move_bytes, put_bytes
from storage.types.blocks cimport (
    allocated, block_at, bulk_bytes, bytes_at, clear, copy_record, drop, exists, filled, free_block,
    free_codes, free_directory,
    home_slot, keep, keep_again, kept, move_slots, new_block, new_bytes, new_codes, new_directory,
    no_directory, nth_slot, number_at, object_bytes, part_of, put_block, put_bulk, put_number, resized,
)
from storage.types.key_part cimport (
    KEYS, LONG, LONG_HEADER, MEMBERS, VALUES, hash_at, hash_of, key_length, key_start,
)
from storage.types.records cimport pair
from storage.types.value cimport Value


cdef enum:
    SHARED = 0
    SIZE = 4
    END = 8
    COUNT = 12
    SLOTS = 16
    DEPTH = 20
    HEADER = 24
    PLACES = 0xFFFFFF
    LARGE = 255
    LARGE_BYTES = 9

cdef Py_ssize_t _FEW
cdef Py_ssize_t _SOME
cdef Py_ssize_t _MOST
cdef Py_ssize_t _MOST_SLOTS

cdef Py_ssize_t taken_bytes(unsigned char* block, Py_ssize_t place) noexcept
cdef const unsigned char* body_text(unsigned char* block, Py_ssize_t place) noexcept
cdef Py_ssize_t body_start(unsigned char* block, Py_ssize_t place) noexcept
cdef Py_ssize_t body_size(unsigned char* block, Py_ssize_t place) noexcept
cdef bytes body_of(unsigned char* block, Py_ssize_t place)
cdef unsigned long long code_at(
    Py_ssize_t kind, unsigned char* block, Py_ssize_t place
) noexcept
cdef bint has_key_at(
    Py_ssize_t kind,
    unsigned char* block,
    Py_ssize_t place,
    const unsigned char* wanted,
    Py_ssize_t length,
) noexcept
cdef bytes bulk_at(const unsigned char* text, Py_ssize_t start, Py_ssize_t size)
cdef Py_ssize_t bulks_bytes(
    Py_ssize_t kind, unsigned char* block, int parts
) noexcept
cdef Py_ssize_t put_bulks(
    Py_ssize_t kind, unsigned char* out, Py_ssize_t to, unsigned char* block, int parts
) noexcept

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


cdef Py_ssize_t _MOST_JOINED
cdef Py_ssize_t _MOST_ORDERED_BYTES
cdef Py_ssize_t _LEAST_BYTES
cdef int _POSITION_BITS
cdef long _LAST_POSITION
cdef int _REST_BITS
cdef unsigned long long _REST


cdef class PackedTable(Value):
    cdef unsigned char* _block
    cdef unsigned char** _directory
    cdef Py_ssize_t _count
    cdef Py_ssize_t _memory
    cdef unsigned int _deepest
    cdef unsigned char _depth
    cdef signed char _kind
    cdef public unsigned char is_ordered

    cdef void _free(self) noexcept
    cdef unsigned char* _segment(self, Py_ssize_t entry) noexcept
    cdef Py_ssize_t _span(self, unsigned char* block) noexcept
    cdef unsigned char* _segment_of(self, unsigned long long code) noexcept
    cdef unsigned long long _code(self, bytes key) except? 0
    cdef void _set_segment(self, unsigned char* block, unsigned long long code) noexcept

    cpdef bint has(self, bytes key) except -1
    cpdef bytes record(self, bytes key)
    cpdef bytes value(self, bytes key)
    cpdef bytes value_bulk(self, bytes key)
    cdef int _records_of(self, unsigned char* block, list[bytes] records) except -1
    cpdef list all_records(self)
    cpdef bytes bulks(self, bytes head, int parts)
    cdef Py_ssize_t _following(self, Py_ssize_t entry, Py_ssize_t count) noexcept
    cdef bytes _bulks(self, bytes head, int parts, Py_ssize_t first, Py_ssize_t end)
    cdef bint _has_at(
        self, const unsigned char* text, Py_ssize_t start, Py_ssize_t length,
        unsigned long long code
    ) noexcept

    cpdef bint put(self, bytes key, bytes value) except -1
    cdef int _replace(
        self, unsigned char* block, unsigned long long code, Py_ssize_t place, bytes key, bytes value
    ) except -1
    cdef bytes _object(self, bytes key, bytes value)
    cdef int _write(
        self, unsigned char* block, Py_ssize_t place, bytes key, bytes value, bytes record
    ) except -1
    cpdef bint discard(self, bytes key) except -1
    cpdef expect_records(self, Py_ssize_t count)

    cdef unsigned char* _roomy(
        self, unsigned char* block, unsigned long long code, Py_ssize_t more
    ) except NULL
    cdef bint _is_full(self, unsigned char* block) noexcept
    cdef bint _may_divide(self, unsigned char* block) noexcept
    cdef int _grow(self, unsigned char* block, unsigned long long code) except -1
    cdef int _index(self, unsigned char* block, unsigned long long code) except -1
    cdef int _divide(self, unsigned char* block) except -1
    cdef unsigned char* _half(self, Py_ssize_t count, Py_ssize_t size, int depth) except NULL
    cdef int _double(self) except -1
    cdef int _set_directory(self, unsigned char** made, int depth) except -1
    cdef int _shrink(self, unsigned char* block, unsigned long long code) except -1
    cdef int _join(self, unsigned long long code, unsigned long long bit) except -1
    cdef int _halve(self) except -1

    cdef int _records_between(
        self, unsigned char* block, long position, long stop, list[bytes] records
    ) except -1
    cdef int _records_of_slots(
        self, unsigned char* block, long position, long stop, list[bytes] records
    ) except -1
    cdef int _record_between(
        self, unsigned char* block, Py_ssize_t place, long position, long stop,
        list[bytes] records
    ) except -1
    cpdef bytes pick(self, object below)
    cdef bytes _pick_counting(self, Py_ssize_t number)
    cdef bytes _nth(self, unsigned char* block, Py_ssize_t number)
    cpdef share_with(self, PackedTable twin)
    cdef long table_bytes(self) noexcept


cdef class RemovedSegments:
    cdef unsigned char** _directory
    cdef Py_ssize_t _entries
    cdef int _depth

    cpdef pop(self)


cdef Py_ssize_t _size_of(Py_ssize_t kind, Py_ssize_t length, Py_ssize_t value_bytes) noexcept
cdef Py_ssize_t _object_bytes(Py_ssize_t size) noexcept
cdef Py_ssize_t _roomy_bytes(Py_ssize_t end) noexcept
