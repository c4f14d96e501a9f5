# The C types of storage/types/value.py.

from storage.memory cimport bytearray_bytes, bytes_object_bytes
from storage.redis_format.listpack_elements cimport plain_integer


cdef class Value


cdef class Keeper:
    cdef give_back(self, Value value)


cdef class Value:
    cdef Keeper _keeper
    cdef void* _record
    cdef public long access_ms
    cdef public long serial
    cdef public long counted_bytes
    cdef public unsigned int deadline
    cdef public unsigned char has_changed
    cdef public unsigned char frequency
    cdef public unsigned char form

    cpdef object first_deadline_ms(self)
    cpdef use_cache(self, object cache)
    cpdef long memory_bytes(self)


cpdef object as_int64(bytes text)


cdef long _OWN_BYTES
cdef tuple _ENCODINGS
cdef unsigned char _RAW


cdef class StringValue(Value):
    cdef public object data

    cpdef bytes to_bytes(self)
    cpdef replace(self, bytes data, bytes encoding=*)


cdef extern from *:
    """
    #include <string.h>

    #define RILLWAY_COUNT_WORDS(NAME) \\
        static Py_ssize_t NAME(const unsigned char* text, Py_ssize_t words) { \\
            Py_ssize_t found = 0, i; \\
            for (i = 0; i < words; i++) { \\
                unsigned long long word; \\
                memcpy(&word, text + 8 * i, 8); \\
                found += __builtin_popcountll(word); \\
            } \\
            return found; \\
        }

    RILLWAY_COUNT_WORDS(rillway_count_words)

    #if defined(__x86_64__)
    /* With the instruction for it that nearly all processors have. */
    __attribute__((target("popcnt")))
    RILLWAY_COUNT_WORDS(rillway_count_words_at_once)
    #endif

    static Py_ssize_t count_set_bits(const unsigned char* text, Py_ssize_t size) {
        Py_ssize_t words = size / 8, i, found;
    #if defined(__x86_64__)
        if (__builtin_cpu_supports("popcnt"))
            found = rillway_count_words_at_once(text, words);
        else
    #endif
            found = rillway_count_words(text, words);
        for (i = 8 * words; i < size; i++)
            found += __builtin_popcount(text[i]);
        return found;
    }

    static Py_ssize_t find_other(const unsigned char* text, unsigned char byte, Py_ssize_t size) {
        unsigned long long same = 0x0101010101010101ULL * byte;
        Py_ssize_t i = 0;
        for (; i + 32 <= size; i += 32) {
            unsigned long long four[4];
            memcpy(four, text + i, 32);
            if ((four[0] ^ same) | (four[1] ^ same) | (four[2] ^ same) | (four[3] ^ same)) break;
        }
        while (i < size && text[i] == byte) i++;
        return i;
    }

    #define RILLWAY_MERGE(EXPRESSION) \\
        for (i = 0; i + 8 <= size; i += 8) { \\
            unsigned long long a, b; \\
            memcpy(&a, target + i, 8); \\
            memcpy(&b, source + i, 8); \\
            a = EXPRESSION; \\
            memcpy(target + i, &a, 8); \\
        } \\
        for (; i < size; i++) { \\
            unsigned char a = target[i], b = source[i]; \\
            target[i] = (unsigned char) (EXPRESSION); \\
        } \\
        break;

    static void merge_bits(
        int how, unsigned char* target, const unsigned char* source, Py_ssize_t size
    ) {
        Py_ssize_t i;
        switch (how) {
            case 0: RILLWAY_MERGE(a & b)
            case 1: RILLWAY_MERGE(a | b)
            case 2: RILLWAY_MERGE(a ^ b)
            default: RILLWAY_MERGE(a & ~b)
        }
    }
    """
    Py_ssize_t count_set_bits(const unsigned char* text, Py_ssize_t size)
    Py_ssize_t find_other(const unsigned char* text, unsigned char byte, Py_ssize_t size)
    void merge_bits(int how, unsigned char* target, const unsigned char* source, Py_ssize_t size)

cpdef Py_ssize_t count_bits(data, Py_ssize_t first, Py_ssize_t last)
cpdef Py_ssize_t find_other_byte(data, unsigned char byte, Py_ssize_t first, Py_ssize_t last)
cpdef merge(
    int how,
    bytearray target,
    Py_ssize_t target_at,
    source,
    Py_ssize_t source_at,
    Py_ssize_t size,
)
