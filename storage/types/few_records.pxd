# What storage/types/few_records.py says, in C.

cdef extern from *:
    """
    #include <math.h>
    #include <string.h>

    #define RILLWAY_FEW(few) ((const unsigned char*) PyBytes_AS_STRING(few))
    /* The header of a packed member, and the score in front of one in a record. */
    enum { RILLWAY_PACKED = 2, RILLWAY_SCORED = 8 };

    static inline Py_ssize_t rillway_packed_bytes(const unsigned char* at) {
        return RILLWAY_PACKED + at[0] + at[1];
    }

    static inline double rillway_packed_score(const unsigned char* at) {
        int whole;
        double score;
        if (at[1] == 1) return (signed char) at[2];
        if (at[1] == 4) {
            memcpy(&whole, at + RILLWAY_PACKED, 4);
            return whole;
        }
        memcpy(&score, at + RILLWAY_PACKED, 8);
        return score;
    }

    static inline unsigned char rillway_score_bytes(double score) {
        if (!(score >= -2147483648.0 && score <= 2147483647.0) || score != (int) score) return 8;
        if (score == 0 && signbit(score)) return 8;
        return score >= -128 && score < 128 ? 1 : 4;
    }

    static inline unsigned char* rillway_put_packed(unsigned char* at, PyObject* record) {
        const unsigned char* text = RILLWAY_FEW(record);
        Py_ssize_t length = PyBytes_GET_SIZE(record) - RILLWAY_SCORED;
        double score;
        int whole;
        memcpy(&score, text, 8);
        at[0] = (unsigned char) length;
        at[1] = rillway_score_bytes(score);
        if (at[1] == 8) {
            memcpy(at + RILLWAY_PACKED, text, 8);
        } else if (at[1] == 4) {
            whole = (int) score;
            memcpy(at + RILLWAY_PACKED, &whole, 4);
        } else {
            at[RILLWAY_PACKED] = (unsigned char) (signed char) score;
        }
        memcpy(at + RILLWAY_PACKED + at[1], text + RILLWAY_SCORED, length);
        return at + rillway_packed_bytes(at);
    }

    static inline Py_ssize_t rillway_entry_bytes(PyObject* record) {
        double score;
        memcpy(&score, RILLWAY_FEW(record), 8);
        return RILLWAY_PACKED + rillway_score_bytes(score)
            + PyBytes_GET_SIZE(record) - RILLWAY_SCORED;
    }

    static inline PyObject* rillway_packed(PyObject* records) {
        Py_ssize_t count = PyList_GET_SIZE(records), size = 1, i;
        unsigned char* at;
        PyObject* few;
        for (i = 0; i < count; i++) size += rillway_entry_bytes(PyList_GET_ITEM(records, i));
        few = PyBytes_FromStringAndSize(NULL, size);
        if (few == NULL) return NULL;
        at = (unsigned char*) PyBytes_AS_STRING(few);
        *at++ = (unsigned char) count;
        for (i = 0; i < count; i++) at = rillway_put_packed(at, PyList_GET_ITEM(records, i));
        return few;
    }

    static inline Py_ssize_t rillway_find_packed(PyObject* few, PyObject* member) {
        const unsigned char* text = RILLWAY_FEW(few);
        const char* wanted = PyBytes_AS_STRING(member);
        Py_ssize_t size = PyBytes_GET_SIZE(few), length = PyBytes_GET_SIZE(member), place = 1;
        while (place < size) {
            const unsigned char* at = text + place;
            if (at[0] == length && memcmp(at + RILLWAY_PACKED + at[1], wanted, length) == 0)
                return place;
            place += rillway_packed_bytes(at);
        }
        return -1;
    }

    static inline Py_ssize_t rillway_place_at(PyObject* few, Py_ssize_t rank) {
        const unsigned char* text = RILLWAY_FEW(few);
        Py_ssize_t place = 1;
        if (rank == text[0]) return PyBytes_GET_SIZE(few);
        while (rank-- > 0) place += rillway_packed_bytes(text + place);
        return place;
    }

    static inline Py_ssize_t rillway_rank_at(PyObject* few, Py_ssize_t place) {
        const unsigned char* text = RILLWAY_FEW(few);
        Py_ssize_t at = 1, rank = 0;
        for (; at < place; rank++) at += rillway_packed_bytes(text + at);
        return rank;
    }

    static inline double rillway_score_at(PyObject* few, Py_ssize_t place) {
        return rillway_packed_score(RILLWAY_FEW(few) + place);
    }

    static inline PyObject* rillway_record_at(PyObject* few, Py_ssize_t place) {
        const unsigned char* at = RILLWAY_FEW(few) + place;
        double score = rillway_packed_score(at);
        PyObject* record = PyBytes_FromStringAndSize(NULL, RILLWAY_SCORED + at[0]);
        if (record != NULL) {
            memcpy(PyBytes_AS_STRING(record), &score, RILLWAY_SCORED);
            memcpy(PyBytes_AS_STRING(record) + RILLWAY_SCORED, at + RILLWAY_PACKED + at[1], at[0]);
        }
        return record;
    }

    /* The place of the first member that does not come before a record; counts those before. */
    static inline Py_ssize_t rillway_place_for(PyObject* few, PyObject* record, Py_ssize_t* rank) {
        const unsigned char* text = RILLWAY_FEW(few);
        const unsigned char* wanted = RILLWAY_FEW(record) + RILLWAY_SCORED;
        Py_ssize_t end = PyBytes_GET_SIZE(few), place = 1;
        Py_ssize_t length = PyBytes_GET_SIZE(record) - RILLWAY_SCORED;
        double score;
        memcpy(&score, RILLWAY_FEW(record), 8);
        for (*rank = 0; place < end; ++*rank) {
            const unsigned char* at = text + place;
            double found = rillway_packed_score(at);
            if (found > score) break;
            if (found == score) {
                Py_ssize_t size = at[0];
                int order = memcmp(
                    at + RILLWAY_PACKED + at[1], wanted, size < length ? size : length);
                if (order > 0 || (order == 0 && size >= length)) break;
            }
            place += rillway_packed_bytes(at);
        }
        return place;
    }

    static inline Py_ssize_t rillway_rank_before(PyObject* few, PyObject* record) {
        Py_ssize_t rank;
        rillway_place_for(few, record, &rank);
        return rank;
    }

    static inline PyObject* rillway_packed_records(
        PyObject* few, Py_ssize_t start, Py_ssize_t end
    ) {
        Py_ssize_t count = RILLWAY_FEW(few)[0], place, i;
        PyObject* records;
        if (end > count) end = count;
        if (start >= end) return PyList_New(0);
        records = PyList_New(end - start);
        if (records == NULL) return NULL;
        place = rillway_place_at(few, start);
        for (i = 0; i < end - start; i++) {
            PyObject* record = rillway_record_at(few, place);
            if (record == NULL) {
                Py_DECREF(records);
                return NULL;
            }
            PyList_SET_ITEM(records, i, record);
            place += rillway_packed_bytes(RILLWAY_FEW(few) + place);
        }
        return records;
    }

    static inline PyObject* rillway_with_record(PyObject* few, PyObject* record) {
        const unsigned char* text = RILLWAY_FEW(few);
        Py_ssize_t size = PyBytes_GET_SIZE(few), rank;
        Py_ssize_t place = rillway_place_for(few, record, &rank);
        PyObject* made = PyBytes_FromStringAndSize(NULL, size + rillway_entry_bytes(record));
        if (made != NULL) {
            unsigned char* out = (unsigned char*) PyBytes_AS_STRING(made);
            memcpy(out, text, place);
            out[0]++;
            memcpy(rillway_put_packed(out + place, record), text + place, size - place);
        }
        return made;
    }

    static inline PyObject* rillway_without_ranks(
        PyObject* few, Py_ssize_t start, Py_ssize_t end
    ) {
        const unsigned char* text = RILLWAY_FEW(few);
        Py_ssize_t size = PyBytes_GET_SIZE(few);
        Py_ssize_t first = rillway_place_at(few, start), last = rillway_place_at(few, end);
        PyObject* made = PyBytes_FromStringAndSize(NULL, size - (last - first));
        if (made != NULL) {
            unsigned char* out = (unsigned char*) PyBytes_AS_STRING(made);
            memcpy(out, text, first);
            out[0] -= (unsigned char) (end - start);
            memcpy(out + first, text + last, size - last);
        }
        return made;
    }
    """
    bytes packed "rillway_packed"(list records)
    Py_ssize_t find_packed "rillway_find_packed"(bytes few, bytes member) noexcept
    Py_ssize_t place_at "rillway_place_at"(bytes few, Py_ssize_t rank) noexcept
    Py_ssize_t rank_at "rillway_rank_at"(bytes few, Py_ssize_t place) noexcept
    double score_at "rillway_score_at"(bytes few, Py_ssize_t place) noexcept
    bytes record_at "rillway_record_at"(bytes few, Py_ssize_t place)
    Py_ssize_t rank_before "rillway_rank_before"(bytes few, bytes record) noexcept
    list packed_records "rillway_packed_records"(bytes few, Py_ssize_t start, Py_ssize_t end)
    bytes with_record "rillway_with_record"(bytes few, bytes record)
    bytes without_ranks "rillway_without_ranks"(bytes few, Py_ssize_t start, Py_ssize_t end)
