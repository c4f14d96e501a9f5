# What storage/types/blocks.py says, in C.
#
# Inline, because most are a few instructions.

from libc.string cimport memcpy, memmove, memset
from protocol.python_api cimport (
    PyBytes_FromStringAndSize,
    PyMem_Free,
    PyMem_Malloc,
    PyMem_Realloc,
    Py_DECREF,
    Py_INCREF,
)

from protocol.replies cimport bulk_size, put_text


# Loops that the compiler turns into vector instructions, which it does not at -O2.
cdef extern from *:
    """
    #define rillway_object_bytes(item) (Py_TYPE(item)->tp_basicsize)

    #if defined(__GNUC__) && !defined(__clang__)
    __attribute__((optimize("O3")))
    #endif
    static void rillway_move_slots(
        unsigned char* block, Py_ssize_t slots, int start, int way)
    {
        Py_ssize_t slot;
        int entry;
        for (slot = 0; slot < slots; slot++) {
            memcpy(&entry, block + 4 * slot, 4);
            entry += (entry & 0xFFFFFF) >= start ? way : 0;
            memcpy(block + 4 * slot, &entry, 4);
        }
    }

    #if defined(__GNUC__) && !defined(__clang__)
    __attribute__((optimize("O3")))
    #endif
    static unsigned int rillway_nth_slot(
        const unsigned char* block, Py_ssize_t slots, Py_ssize_t number)
    {
        Py_ssize_t slot = 0;
        int step, used;
        unsigned int entry = 0;
        for (; slot + 16 <= slots; slot += 16) {
            for (step = 0, used = 0; step < 16; step++) {
                memcpy(&entry, block + 4 * (slot + step), 4);
                used += entry != 0;
            }
            if (number < used)
                break;
            number -= used;
        }
        for (; slot < slots; slot++) {
            memcpy(&entry, block + 4 * slot, 4);
            if (entry != 0 && number-- == 0)
                break;
        }
        return entry;
    }
    """
    unsigned int rillway_nth_slot(
        const unsigned char* block, Py_ssize_t slots, Py_ssize_t number
    ) noexcept
    void rillway_move_slots(
        unsigned char* block, Py_ssize_t slots, int start, int way
    ) noexcept
    Py_ssize_t rillway_object_bytes(object item) noexcept


cdef inline void move_slots(
    unsigned char* block, Py_ssize_t place, Py_ssize_t slots, Py_ssize_t start, Py_ssize_t way
) noexcept:
    rillway_move_slots(block + place, slots, <int> start, <int> way)


cdef inline unsigned int nth_slot(
    const unsigned char* block, Py_ssize_t place, Py_ssize_t slots, Py_ssize_t number
) noexcept:
    return rillway_nth_slot(block + place, slots, number)


cdef inline const unsigned char* part_of(const unsigned char* text, Py_ssize_t start) noexcept:
    return text + start


cdef inline Py_ssize_t home_slot(
    unsigned long long code, unsigned int depth, Py_ssize_t slots
) noexcept:
    return <Py_ssize_t> ((code << depth >> 32) * slots >> 32)


cdef inline unsigned char* new_block(Py_ssize_t size) except NULL:
    cdef unsigned char* block = <unsigned char*> PyMem_Malloc(size)
    if block == NULL:
        raise MemoryError
    return block


cdef inline unsigned char* resized(unsigned char* block, Py_ssize_t size) except NULL:
    block = <unsigned char*> PyMem_Realloc(block, size)
    if block == NULL:
        raise MemoryError
    return block


cdef inline bint exists(const unsigned char* block) noexcept:
    return block != NULL


cdef inline void free_block(unsigned char* block) noexcept:
    PyMem_Free(block)


cdef inline Py_ssize_t object_bytes(object item) noexcept:
    return rillway_object_bytes(item)


cdef inline Py_ssize_t allocated(Py_ssize_t size) noexcept:
    return (size + (23 if size > 512 else 15)) & ~15


cdef inline unsigned int number_at(const unsigned char* block, Py_ssize_t place) noexcept:
    cdef unsigned int number
    memcpy(&number, block + place, 4)
    return number


cdef inline void put_number(
    unsigned char* block, Py_ssize_t place, unsigned int number
) noexcept:
    memcpy(block + place, &number, 4)


cdef inline void clear(unsigned char* block, Py_ssize_t start, Py_ssize_t end) noexcept:
    memset(block + start, 0, end - start)


cdef inline bytes bytes_at(const unsigned char* block, Py_ssize_t place, Py_ssize_t size):
    return PyBytes_FromStringAndSize(<const char*> block + place, size)


cdef inline void copy_record(
    unsigned char* block, Py_ssize_t place, const unsigned char* source, Py_ssize_t start,
    Py_ssize_t size
) noexcept:
    # Of memcpy, for a size below 256, GCC makes instructions that take longer than a call.
    memmove(block + place, source + start, size)


cdef inline void keep(unsigned char* block, Py_ssize_t place, bytes record) noexcept:
    cdef void* pointer = <void*> record
    memcpy(block + place, &pointer, 8)
    Py_INCREF(record)


cdef inline bytes kept(const unsigned char* block, Py_ssize_t place):
    cdef void* pointer
    memcpy(&pointer, block + place, 8)
    return <bytes> pointer


cdef inline void keep_again(const unsigned char* block, Py_ssize_t place) noexcept:
    cdef void* pointer
    memcpy(&pointer, block + place, 8)
    Py_INCREF(<object> pointer)


cdef inline void drop(const unsigned char* block, Py_ssize_t place) noexcept:
    cdef void* pointer
    memcpy(&pointer, block + place, 8)
    Py_DECREF(<object> pointer)


cdef inline unsigned long long* new_codes(Py_ssize_t count) except NULL:
    cdef unsigned long long* codes = <unsigned long long*> PyMem_Malloc(8 * count)
    if codes == NULL:
        raise MemoryError
    return codes


cdef inline void free_codes(unsigned long long* codes) noexcept:
    PyMem_Free(codes)


cdef inline unsigned char** new_directory(Py_ssize_t size) except NULL:
    cdef unsigned char** directory = <unsigned char**> PyMem_Malloc(8 * size)
    if directory == NULL:
        raise MemoryError
    return directory


cdef inline unsigned char** no_directory() noexcept:
    return NULL


cdef inline void free_directory(unsigned char** directory) noexcept:
    PyMem_Free(directory)


cdef inline unsigned char* block_at(unsigned char** directory, Py_ssize_t place) noexcept:
    return directory[place]


cdef inline void put_block(
    unsigned char** directory, Py_ssize_t place, unsigned char* block
) noexcept:
    directory[place] = block


cdef inline bytes new_bytes(Py_ssize_t size):
    return PyBytes_FromStringAndSize(NULL, size)


cdef inline bytes filled(bytes made):
    return made


cdef inline Py_ssize_t bulk_bytes(Py_ssize_t size) noexcept:
    return bulk_size(size)


cdef inline Py_ssize_t put_bulk(
    unsigned char* out,
    Py_ssize_t to,
    const unsigned char* text,
    Py_ssize_t start,
    Py_ssize_t size,
) noexcept:
    return put_text(<char*> out + to, <const char*> text + start, size) - <char*> out
