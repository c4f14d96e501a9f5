# What storage/keyspace/key_records.py says, in C.

from libc.string cimport memset
from protocol.python_api cimport (
    PyBytes_AS_STRING,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
    PyMem_Free,
    PyMem_Malloc,
    PyObject_Hash,
)


cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #if PY_VERSION_HEX >= 0x030E0000
    #define rillway_key_hash(data, size) Py_HashBuffer((data), (size))
    #else
    #define rillway_key_hash(data, size) _Py_HashBytes((data), (size))
    #endif

    typedef struct {
        void* holder;
        unsigned long long serial : 48;
        unsigned long long kind : 8;
        unsigned long long form : 8;
        unsigned long long access_ms : 48;
        unsigned long long frequency : 8;
        unsigned long long state : 8;
        unsigned int deadline;
        unsigned int length;
        unsigned int key_length;
        char text[];
    } rillway_record;

    #define rillway_record_bytes(key_length, length) \\
        ((Py_ssize_t) offsetof(rillway_record, text) + (key_length) + (length))

    typedef struct {
        unsigned int depth;
        unsigned int count;
        unsigned int mask;
        unsigned int spare;
        uintptr_t slots[];
    } rillway_segment;

    typedef struct {
        rillway_segment** directory;
        unsigned int depth;
        long bytes;
    } rillway_keys;

    #define RILLWAY_LEAST_SLOTS 8
    #define RILLWAY_MOST_SLOTS 1024
    #define RILLWAY_FEW_SLOTS 128
    #define RILLWAY_ADDRESS (((uintptr_t) 1 << 48) - 1)

    static inline rillway_segment* rillway_segment_of(
        const rillway_keys* keys, unsigned long long code
    ) {
        return keys->directory[keys->depth ? code >> (64 - keys->depth) : 0];
    }

    static inline unsigned long long rillway_code_of(const rillway_record* record) {
        Py_hash_t hash = rillway_key_hash(record->text, record->key_length);
        return hash ? (unsigned long long) hash : 1;
    }

    static inline rillway_record* rillway_find_key(
        const rillway_keys* keys, const char* key, Py_ssize_t length, unsigned long long code
    ) {
        const rillway_segment* segment;
        uintptr_t tag = code & 0xFFFF, slot;
        unsigned int place;
        if (keys->directory == NULL) return NULL;
        segment = rillway_segment_of(keys, code);
        for (place = tag & segment->mask; (slot = segment->slots[place]) != 0;
                place = (place + 1) & segment->mask) {
            if (slot >> 48 == tag) {
                rillway_record* record = (rillway_record*) (slot & RILLWAY_ADDRESS);
                if (record->key_length == length && memcmp(record->text, key, length) == 0)
                    return record;
            }
        }
        return NULL;
    }

    static inline rillway_record* rillway_find_serial(
        const rillway_keys* keys, unsigned long long code, unsigned long long serial
    ) {
        const rillway_segment* segment;
        uintptr_t tag = code & 0xFFFF, slot;
        unsigned int place;
        if (keys->directory == NULL) return NULL;
        segment = rillway_segment_of(keys, code);
        for (place = tag & segment->mask; (slot = segment->slots[place]) != 0;
                place = (place + 1) & segment->mask) {
            if (slot >> 48 == tag) {
                rillway_record* record = (rillway_record*) (slot & RILLWAY_ADDRESS);
                if (record->serial == serial) return record;
            }
        }
        return NULL;
    }

    static unsigned int rillway_slot_of(
        const rillway_segment* segment, uintptr_t record, unsigned long long code
    ) {
        unsigned int place = code & segment->mask;
        while ((segment->slots[place] & RILLWAY_ADDRESS) != record)
            place = (place + 1) & segment->mask;
        return place;
    }

    static rillway_segment* rillway_new_segment(
        rillway_keys* keys, unsigned int slots, unsigned int depth
    ) {
        size_t size = sizeof(rillway_segment) + slots * sizeof(uintptr_t);
        rillway_segment* made = (rillway_segment*) PyMem_Calloc(1, size);
        if (made != NULL) {
            made->depth = depth;
            made->mask = slots - 1;
            keys->bytes += size;
        }
        return made;
    }

    static void rillway_free_segment(rillway_keys* keys, rillway_segment* segment) {
        keys->bytes -= sizeof(rillway_segment) + (segment->mask + 1) * sizeof(uintptr_t);
        PyMem_Free(segment);
    }

    static void rillway_fill_slot(rillway_segment* segment, uintptr_t slot) {
        unsigned int place = (slot >> 48) & segment->mask;
        while (segment->slots[place] != 0) place = (place + 1) & segment->mask;
        segment->slots[place] = slot;
        segment->count++;
    }

    static void rillway_fill_slots(rillway_segment* segment, const rillway_segment* source) {
        unsigned int place;
        for (place = 0; place <= source->mask; place++)
            if (source->slots[place] != 0) rillway_fill_slot(segment, source->slots[place]);
    }

    /* Enters a segment for all hashes that begin as a code does. */
    static void rillway_set_segment(
        rillway_keys* keys, rillway_segment* segment, unsigned long long code
    ) {
        size_t span = (size_t) 1 << (keys->depth - segment->depth), entry;
        size_t first = keys->depth ? code >> (64 - keys->depth) : 0;
        first -= first % span;
        for (entry = first; entry < first + span; entry++) keys->directory[entry] = segment;
    }

    static int rillway_resize_segment(
        rillway_keys* keys, rillway_segment* segment, unsigned int slots, unsigned long long code
    ) {
        rillway_segment* made = rillway_new_segment(keys, slots, segment->depth);
        if (made == NULL) return -1;
        rillway_fill_slots(made, segment);
        rillway_set_segment(keys, made, code);
        rillway_free_segment(keys, segment);
        return 0;
    }

    static int rillway_double_directory(rillway_keys* keys) {
        size_t entries = (size_t) 1 << keys->depth, entry;
        rillway_segment** made =
            (rillway_segment**) PyMem_Malloc(2 * entries * sizeof(rillway_segment*));
        if (made == NULL) return -1;
        for (entry = 0; entry < entries; entry++)
            made[2 * entry] = made[2 * entry + 1] = keys->directory[entry];
        PyMem_Free(keys->directory);
        keys->directory = made;
        keys->depth++;
        keys->bytes += entries * sizeof(rillway_segment*);
        return 0;
    }

    static int rillway_divide_segment(
        rillway_keys* keys, rillway_segment* segment, unsigned long long code
    ) {
        unsigned int depth = segment->depth + 1, place;
        unsigned long long bit = 1ULL << (64 - depth);
        rillway_segment *low, *high;
        if (depth > keys->depth && rillway_double_directory(keys) < 0) return -1;
        low = rillway_new_segment(keys, RILLWAY_MOST_SLOTS, depth);
        if (low == NULL) return -1;
        high = rillway_new_segment(keys, RILLWAY_MOST_SLOTS, depth);
        if (high == NULL) {
            rillway_free_segment(keys, low);
            return -1;
        }
        for (place = 0; place <= segment->mask; place++) {
            uintptr_t slot = segment->slots[place];
            if (slot != 0) {
                rillway_record* record = (rillway_record*) (slot & RILLWAY_ADDRESS);
                rillway_fill_slot(rillway_code_of(record) & bit ? high : low, slot);
            }
        }
        rillway_set_segment(keys, low, code & ~bit);
        rillway_set_segment(keys, high, code | bit);
        rillway_free_segment(keys, segment);
        return 0;
    }

    static int rillway_enter_key(
        rillway_keys* keys, rillway_record* record, unsigned long long code
    ) {
        if (keys->directory == NULL) {
            keys->directory = (rillway_segment**) PyMem_Malloc(sizeof(rillway_segment*));
            if (keys->directory == NULL) return -1;
            keys->directory[0] = rillway_new_segment(keys, RILLWAY_LEAST_SLOTS, 0);
            if (keys->directory[0] == NULL) {
                PyMem_Free(keys->directory);
                keys->directory = NULL;
                return -1;
            }
            keys->bytes += sizeof(rillway_segment*);
        }
        for (;;) {
            rillway_segment* segment = rillway_segment_of(keys, code);
            unsigned int slots = segment->mask + 1;
            if ((segment->count + 1) * 5 <= slots * 4) {
                rillway_fill_slot(segment, (code & 0xFFFF) << 48 | (uintptr_t) record);
                return 0;
            }
            if (slots < RILLWAY_MOST_SLOTS) {
                if (rillway_resize_segment(keys, segment, 2 * slots, code) < 0) return -1;
            }
            else if (rillway_divide_segment(keys, segment, code) < 0) return -1;
        }
    }

    static void rillway_join_segments(rillway_keys* keys, unsigned long long code) {
        rillway_segment* segment = rillway_segment_of(keys, code);
        rillway_segment *other, *made;
        unsigned int slots = segment->mask + 1;
        if (segment->depth == 0) return;
        other = rillway_segment_of(keys, code ^ 1ULL << (64 - segment->depth));
        if (other->depth != segment->depth || other->mask > segment->mask) return;
        /* Without memory for it, they stay as they are. */
        made = rillway_new_segment(keys, 2 * slots, segment->depth - 1);
        if (made == NULL) return;
        rillway_fill_slots(made, segment);
        rillway_fill_slots(made, other);
        rillway_set_segment(keys, made, code);
        rillway_free_segment(keys, segment);
        rillway_free_segment(keys, other);
    }

    static void rillway_leave_key(
        rillway_keys* keys, rillway_record* record, unsigned long long code
    ) {
        rillway_segment* segment = rillway_segment_of(keys, code);
        unsigned int mask = segment->mask, free_place, place;
        free_place = place = rillway_slot_of(segment, (uintptr_t) record, code);
        for (;;) {
            uintptr_t slot;
            place = (place + 1) & mask;
            slot = segment->slots[place];
            if (slot == 0) break;
            if (((place - (unsigned int) (slot >> 48)) & mask) >= ((place - free_place) & mask)) {
                segment->slots[free_place] = slot;
                free_place = place;
            }
        }
        segment->slots[free_place] = 0;
        segment->count--;
        if (mask + 1 > RILLWAY_LEAST_SLOTS && segment->count * 8 <= mask + 1
                && rillway_resize_segment(keys, segment, (mask + 1) / 2, code) == 0
                && (mask + 1) / 2 <= RILLWAY_FEW_SLOTS)
            rillway_join_segments(keys, code);
    }

    static inline void rillway_replace_record(
        rillway_keys* keys, uintptr_t former, rillway_record* record, unsigned long long code
    ) {
        rillway_segment* segment = rillway_segment_of(keys, code);
        unsigned int place = rillway_slot_of(segment, former, code);
        segment->slots[place] = (code & 0xFFFF) << 48 | (uintptr_t) record;
    }

    static inline Py_ssize_t rillway_entries(const rillway_keys* keys) {
        return keys->directory == NULL ? 0 : (Py_ssize_t) 1 << keys->depth;
    }

    static inline Py_ssize_t rillway_span(const rillway_keys* keys, Py_ssize_t entry) {
        return entry >= rillway_entries(keys) ? 1 :
            (Py_ssize_t) 1 << (keys->depth - keys->directory[entry]->depth);
    }

    static inline Py_ssize_t rillway_slots(const rillway_keys* keys, Py_ssize_t entry) {
        return entry >= rillway_entries(keys) ? 0 :
            (Py_ssize_t) keys->directory[entry]->mask + 1;
    }

    static inline rillway_record* rillway_record_in(
        const rillway_keys* keys, Py_ssize_t entry, Py_ssize_t slot
    ) {
        return (rillway_record*) (keys->directory[entry]->slots[slot] & RILLWAY_ADDRESS);
    }

    /* Leaves the records as they are. */
    static inline void rillway_clear_slots(rillway_keys* keys, Py_ssize_t entry) {
        rillway_segment* segment = keys->directory[entry];
        memset(segment->slots, 0, (segment->mask + 1) * sizeof(uintptr_t));
        segment->count = 0;
    }

    /* Leaves the records as they are. */
    static void rillway_free_keys(rillway_keys* keys) {
        Py_ssize_t entry = 0, entries = rillway_entries(keys), span;
        for (; entry < entries; entry += span) {
            span = rillway_span(keys, entry);
            rillway_free_segment(keys, keys->directory[entry]);
        }
        PyMem_Free(keys->directory);
        memset(keys, 0, sizeof(*keys));
    }

    static rillway_record* rillway_new_record(const char* key, Py_ssize_t length) {
        rillway_record* made =
            (rillway_record*) PyMem_Malloc(rillway_record_bytes(length, 0));
        if (made != NULL) {
            memset(made, 0, offsetof(rillway_record, text));
            made->key_length = (unsigned int) length;
            memcpy(made->text, key, length);
        }
        return made;
    }
    """
    ctypedef struct Record "rillway_record":
        void* holder
        unsigned long long serial
        unsigned char kind
        unsigned char form
        unsigned long long access_ms
        unsigned char frequency
        unsigned char state
        unsigned int deadline
        unsigned int length
        unsigned int key_length
        char* text

    ctypedef struct Keys "rillway_keys":
        long bytes

    Py_ssize_t record_bytes "rillway_record_bytes"(Py_ssize_t key_length, Py_ssize_t length) noexcept
    unsigned long long code_of "rillway_code_of"(const Record* record) noexcept
    Record* rillway_find_key(
        const Keys* keys, const char* key, Py_ssize_t length, unsigned long long code
    ) noexcept
    Record* rillway_find_serial(
        const Keys* keys, unsigned long long code, unsigned long long serial
    ) noexcept
    int rillway_enter_key(Keys* keys, Record* record, unsigned long long code) noexcept
    void rillway_leave_key(Keys* keys, Record* record, unsigned long long code) noexcept
    void replace_record "rillway_replace_record"(
        Keys* keys, size_t former, Record* record, unsigned long long code
    ) noexcept
    Py_ssize_t entries "rillway_entries"(const Keys* keys) noexcept
    Py_ssize_t span "rillway_span"(const Keys* keys, Py_ssize_t entry) noexcept
    Py_ssize_t slots "rillway_slots"(const Keys* keys, Py_ssize_t entry) noexcept
    Record* record_in "rillway_record_in"(
        const Keys* keys, Py_ssize_t entry, Py_ssize_t slot
    ) noexcept
    void clear_slots "rillway_clear_slots"(Keys* keys, Py_ssize_t entry) noexcept
    void rillway_free_keys(Keys* keys) noexcept
    Record* rillway_new_record(const char* key, Py_ssize_t length) noexcept


cdef inline unsigned long long code_of_key(bytes key) except 0:
    cdef Py_hash_t code = PyObject_Hash(key)
    return <unsigned long long> code if code else 1


cdef inline Keys* new_keys() except NULL:
    cdef Keys* keys = <Keys*> PyMem_Malloc(sizeof(Keys))
    if keys == NULL:
        raise MemoryError
    memset(keys, 0, sizeof(Keys))
    return keys


cdef inline void free_keys(Keys* keys) noexcept:
    rillway_free_keys(keys)
    PyMem_Free(keys)


cdef inline bint exists(const Record* record) noexcept:
    return record != NULL


cdef inline Record* find(Keys* keys, bytes key, unsigned long long code) noexcept:
    return rillway_find_key(keys, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key), code)


cdef inline Record* find_serial(
    Keys* keys, unsigned long long code, unsigned long long serial
) noexcept:
    return rillway_find_serial(keys, code, serial)


cdef inline Record* new_record(Keys* keys, bytes key, unsigned long long code) except NULL:
    cdef Record* record = rillway_new_record(PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    if record == NULL:
        raise MemoryError
    if rillway_enter_key(keys, record, code) < 0:
        PyMem_Free(record)
        raise MemoryError
    return record


cdef inline void free_record(Keys* keys, Record* record, unsigned long long code) noexcept:
    rillway_leave_key(keys, record, code)
    PyMem_Free(record)


cdef inline bytes key_of(const Record* record):
    return PyBytes_FromStringAndSize(record.text, record.key_length)
