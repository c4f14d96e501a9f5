# The C types of storage/types/records.py.

from cpython.array cimport array, array as Numbers
from libc.string cimport memcpy
from protocol.python_api cimport (
    PyBytes_AS_STRING,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
    PyList_GET_ITEM,
    PyList_GET_SIZE,
)
from protocol.replies cimport bulk_size, put_text
from storage.memory cimport array_bytes, bytes_object_bytes, list_bytes
from storage.types.key_part cimport has_key, hash_of, key_length, key_start, slots_of, zeros
from storage.types.prefetch cimport prefetch


cdef inline bytes make_pair(bytes field, bytes value):
    cdef Py_ssize_t size = PyBytes_GET_SIZE(field)
    cdef unsigned long long length = size
    cdef Py_ssize_t start = 1 if size < 255 else 9
    made = PyBytes_FromStringAndSize(NULL, start + size + PyBytes_GET_SIZE(value))
    cdef char* out = PyBytes_AS_STRING(made)
    out[0] = <char> <unsigned char> (size if start == 1 else 255)
    if start == 9:
        memcpy(out + 1, &length, 8)
    memcpy(out + start, PyBytes_AS_STRING(field), size)
    memcpy(out + start + size, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return made


cdef inline Py_ssize_t value_start(bytes record) noexcept:
    """Where the value of a record begins."""
    cdef const unsigned char* data = <const unsigned char*> record
    cdef Py_ssize_t start = key_start(-1, data, 0)
    return start + key_length(-1, data, 0, PyBytes_GET_SIZE(record), start)


cdef inline bytes get_field(bytes record):
    cdef Py_ssize_t start = key_start(-1, <const unsigned char*> record, 0)
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(record) + start, value_start(record) - start)


cdef inline bytes get_value(bytes record):
    cdef Py_ssize_t start = value_start(record)
    return PyBytes_FromStringAndSize(
        PyBytes_AS_STRING(record) + start, PyBytes_GET_SIZE(record) - start
    )


cdef inline bytes make_pair_bulks(bytes head, list records):
    cdef Py_ssize_t total = PyBytes_GET_SIZE(head)
    cdef Py_ssize_t place, start, end
    cdef bytes record
    cdef char* out
    for place in range(PyList_GET_SIZE(records)):
        record = <bytes> PyList_GET_ITEM(records, place)
        end = value_start(record)
        start = key_start(-1, <const unsigned char*> record, 0)
        total += bulk_size(end - start) + bulk_size(PyBytes_GET_SIZE(record) - end)
    made = PyBytes_FromStringAndSize(NULL, total)
    out = PyBytes_AS_STRING(made)
    memcpy(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    out += PyBytes_GET_SIZE(head)
    for place in range(PyList_GET_SIZE(records)):
        record = <bytes> PyList_GET_ITEM(records, place)
        end = value_start(record)
        start = key_start(-1, <const unsigned char*> record, 0)
        out = put_text(out, PyBytes_AS_STRING(record) + start, end - start)
        out = put_text(out, PyBytes_AS_STRING(record) + end, PyBytes_GET_SIZE(record) - end)
    return made


cpdef bytes pair(bytes field, bytes value)
cpdef bytes field_of(bytes record)
cpdef bytes value_of(bytes record)
cpdef bytes pair_bulks(bytes head, list[bytes] records)


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
    int sort_in_order(list records) except -1
    bytes new_record(double score, bytes member)
    bytes member_in(bytes record)

cpdef bytes make_record(double score, bytes member)
cpdef double score_of(bytes record) noexcept
cpdef bytes member_of(bytes record)
cpdef tuple pair_of(bytes record)
cpdef bint is_before(bytes record, bytes other) noexcept
cpdef Py_ssize_t place_of(list records, bytes record) noexcept
cpdef sort_records(list records)


cdef Py_ssize_t _FEW
cdef int _LEAST_BITS
cdef Py_ssize_t _ENTERED_AT_ONCE
cdef array _NO_SLOTS
cdef long _TABLE_BYTES


cdef class RecordTable:
    cdef readonly list _records
    cdef array _index
    cdef array _former
    cdef Py_ssize_t _kind
    cdef long _records_bytes
    cdef Py_ssize_t _room
    cdef Py_ssize_t _left
    cdef int _bits
    cdef int _former_bits

    cpdef bytes get(self, bytes key)
    cpdef list records(self)
    cpdef bytes put(self, bytes record)
    cpdef bytes remove(self, bytes key)
    cpdef put_all(self, list[bytes] records)
    cpdef discard_all(self, list[bytes] records)
    cdef bytes _remove_at(self, Py_ssize_t place)
    cpdef reserve(self, Py_ssize_t count)
    cpdef RecordTable selected(self, list[bytes] records)
    cpdef long memory_bytes(self)

    cdef Py_ssize_t _find(self, bytes key) except -2
    cdef Py_ssize_t _place(
        self, bytes text, Py_ssize_t start, Py_ssize_t length, unsigned long long code
    ) except -2
    cdef Py_ssize_t _place_in(
        self, array index, int bits, bytes text, Py_ssize_t start, Py_ssize_t length,
        unsigned long long code
    ) noexcept
    cdef void _enter(self, unsigned long long code, Py_ssize_t number) noexcept
    cdef int _move(self, bytes record, Py_ssize_t number, Py_ssize_t new) except -1
    cdef unsigned long long _code_of(self, bytes record) except? 0
    cdef int _enter_some(self, Py_ssize_t count) except -1
    cdef int _renew(self, Py_ssize_t more) except -1


cdef Py_ssize_t _PART_RECORDS
cdef Py_ssize_t _SPARSE_RECORDS
cdef long _ORDER_BYTES


cdef class RecordOrder:
    cdef readonly Py_ssize_t count
    cdef list _parts
    cdef long _parts_bytes
    cdef list _firsts
    cdef Numbers _counts

    cpdef fill(self, list records)
    cdef _set_parts(self, list parts)
    cdef _measure_parts(self)
    cpdef add(self, bytes record)
    cpdef remove(self, bytes record)
    cpdef replace(self, bytes record, bytes new)
    cdef _divide(self, Py_ssize_t index, Py_ssize_t place)
    cdef _join(self, Py_ssize_t index)
    cpdef list remove_span(self, Py_ssize_t start, Py_ssize_t end)
    cdef Py_ssize_t _part_of(self, bytes record) noexcept
    cpdef Py_ssize_t rank_of(self, bytes record) except -1
    cdef Py_ssize_t _rank_before(self, Py_ssize_t index) noexcept
    cpdef Py_ssize_t rank_where(self, object holds) except -1
    cpdef bytes at(self, Py_ssize_t rank)
    cpdef list records(self, Py_ssize_t start, Py_ssize_t end)
    cpdef list take_parts(self)
    cpdef long memory_bytes(self)


cdef int* _lengths(RecordOrder order) noexcept
