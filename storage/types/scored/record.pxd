# The C types of storage/types/scored/record.py, and what its functions are in C.

cdef extern from *:
    """
    #include <stdlib.h>
    #include <string.h>

    #define RILLWAY_SCORE_BYTES 8
    #define RILLWAY_MEMBER(record) (PyBytes_AS_STRING(record) + RILLWAY_SCORE_BYTES)
    #define RILLWAY_MEMBER_BYTES(record) (PyBytes_GET_SIZE(record) - RILLWAY_SCORE_BYTES)

    static inline double score_in(PyObject* record) {
        double score;
        memcpy(&score, PyBytes_AS_STRING(record), RILLWAY_SCORE_BYTES);
        return score;
    }

    static inline int members_before(PyObject* record, PyObject* other) {
        Py_ssize_t size = RILLWAY_MEMBER_BYTES(record), other_size = RILLWAY_MEMBER_BYTES(other);
        int found = memcmp(
            RILLWAY_MEMBER(record), RILLWAY_MEMBER(other), size < other_size ? size : other_size);
        return found ? found < 0 : size < other_size;
    }

    static inline int before(PyObject* record, PyObject* other) {
        double score = score_in(record), other_score = score_in(other);
        if (score != other_score) return score < other_score;
        return members_before(record, other);
    }

    static inline Py_ssize_t place_among(PyObject* records, PyObject* record) {
        Py_ssize_t low = 0, high = PyList_GET_SIZE(records);
        double score = score_in(record);
        while (low < high) {
            Py_ssize_t middle = (low + high) / 2;
            PyObject* found = PyList_GET_ITEM(records, middle);
            double found_score = score_in(found);
            if (found_score < score || (found_score == score && members_before(found, record)))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    static inline Py_ssize_t find_among(PyObject* records, PyObject* member) {
        Py_ssize_t count = PyList_GET_SIZE(records), size = PyBytes_GET_SIZE(member), i;
        const char* text = PyBytes_AS_STRING(member);
        for (i = 0; i < count; i++) {
            PyObject* record = PyList_GET_ITEM(records, i);
            if (RILLWAY_MEMBER_BYTES(record) == size
                    && memcmp(RILLWAY_MEMBER(record), text, size) == 0)
                return i;
        }
        return -1;
    }

    /* Beside each record its score, so that comparing reads what is side by side. */
    typedef struct { double score; PyObject* record; } rillway_scored;

    static inline int rillway_compare(const void* one, const void* other) {
        const rillway_scored* a = one;
        const rillway_scored* b = other;
        if (a->score != b->score) return a->score < b->score ? -1 : 1;
        return members_before(a->record, b->record) ? -1 : 1;
    }

    static inline int sort_in_order(PyObject* records) {
        Py_ssize_t count = PyList_GET_SIZE(records), i;
        rillway_scored* rows;
        for (i = 1; i < count; i++)
            if (before(PyList_GET_ITEM(records, i), PyList_GET_ITEM(records, i - 1))) break;
        if (i >= count) return 0;
        rows = PyMem_RawMalloc(count * sizeof(rillway_scored));
        if (rows == NULL) { PyErr_NoMemory(); return -1; }
        for (i = 0; i < count; i++) {
            rows[i].record = PyList_GET_ITEM(records, i);
            rows[i].score = score_in(rows[i].record);
        }
        qsort(rows, count, sizeof(rillway_scored), rillway_compare);
        for (i = 0; i < count; i++) PyList_SET_ITEM(records, i, rows[i].record);
        PyMem_RawFree(rows);
        return 0;
    }

    static inline PyObject* new_record(double score, PyObject* member) {
        Py_ssize_t size = PyBytes_GET_SIZE(member);
        PyObject* record = PyBytes_FromStringAndSize(NULL, RILLWAY_SCORE_BYTES + size);
        if (record != NULL) {
            memcpy(PyBytes_AS_STRING(record), &score, RILLWAY_SCORE_BYTES);
            memcpy(RILLWAY_MEMBER(record), PyBytes_AS_STRING(member), size);
        }
        return record;
    }

    static inline PyObject* member_in(PyObject* record) {
        return PyBytes_FromStringAndSize(RILLWAY_MEMBER(record), RILLWAY_MEMBER_BYTES(record));
    }
    """
    double score_in(bytes record) noexcept
    bint before(bytes record, bytes other) noexcept
    Py_ssize_t place_among(list records, bytes record) noexcept
    Py_ssize_t find_among(list records, bytes member) noexcept
    int sort_in_order(list records) except -1
    bytes new_record(double score, bytes member)
    bytes member_in(bytes record)

cpdef bytes make_record(double score, bytes member)
cpdef double score_of(bytes record) noexcept
cpdef bytes member_of(bytes record)
cpdef tuple pair_of(bytes record)
cpdef bint is_before(bytes record, bytes other) noexcept
cpdef Py_ssize_t place_of(list records, bytes record) noexcept
cpdef Py_ssize_t find_member(list records, bytes member) noexcept
cpdef sort_records(list records)
