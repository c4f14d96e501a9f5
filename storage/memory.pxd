# What storage/memory.py says, in C.
#
# Inline, because most parts are a few bytes long, and in C itself: each module that imports these
# types has a copy of what is here, and of an inline function of Cython's twenty times as much.


cdef extern from *:
    """
    #include <string.h>

    static inline long long rillway_block_bytes(long long request) {
        return ((request > 512 ? request + 8 : request) + 15) & ~15LL;
    }

    static inline long long rillway_bytes_object_bytes(long long length) {
        return rillway_block_bytes(33 + length);
    }

    static inline long long rillway_list_bytes(PyObject* items) {
        return 64 + rillway_block_bytes(8 * ((PyListObject*) items)->allocated);
    }

    static inline long long rillway_set_bytes(PyObject* items) {
        PySetObject* set = (PySetObject*) items;
        long long room = set->table == set->smalltable ? 0 : (set->mask + 1) * sizeof(setentry);
        return rillway_block_bytes(sizeof(PySetObject) + 16) + rillway_block_bytes(room);
    }

    static inline long long rillway_bytearray_bytes(PyObject* text) {
        return 64 + rillway_block_bytes(((PyByteArrayObject*) text)->ob_alloc);
    }

    /* A macro: it is for modules that import cpython.array, whose C code comes further down. */
    #define rillway_array_bytes(numbers) \
        (80 + rillway_block_bytes(((arrayobject*) (numbers))->allocated \
            * ((arrayobject*) (numbers))->ob_descr->itemsize))

    static inline Py_ssize_t rillway_put_bytes(
        unsigned char* out, Py_ssize_t place,
        const unsigned char* data, Py_ssize_t start, Py_ssize_t length
    ) {
        memcpy(out + place, data + start, length);
        return place + length;
    }

    static inline void rillway_move_bytes(
        unsigned char* out, Py_ssize_t start, Py_ssize_t end, Py_ssize_t to
    ) {
        memmove(out + to, out + start, end - start);
    }

    static inline int rillway_is_at(
        const unsigned char* data, Py_ssize_t place, const unsigned char* text, Py_ssize_t length
    ) {
        return memcmp(data + place, text, length) == 0;
    }
    """
    Py_ssize_t dict_object_size "sizeof(PyDictObject)"
    long long block_bytes "rillway_block_bytes"(long long request) noexcept
    long long bytes_object_bytes "rillway_bytes_object_bytes"(long long length) noexcept
    long long list_bytes "rillway_list_bytes"(list items) noexcept
    long long set_bytes "rillway_set_bytes"(set items) noexcept
    long long bytearray_bytes "rillway_bytearray_bytes"(bytearray text) noexcept
    long long array_bytes "rillway_array_bytes"(object numbers) noexcept
    Py_ssize_t put_bytes "rillway_put_bytes"(
        unsigned char* out,
        Py_ssize_t place,
        const unsigned char* data,
        Py_ssize_t start,
        Py_ssize_t length,
    ) noexcept
    void move_bytes "rillway_move_bytes"(
        unsigned char* out, Py_ssize_t start, Py_ssize_t end, Py_ssize_t to
    ) noexcept
    bint is_at "rillway_is_at"(
        const unsigned char* data, Py_ssize_t place, const unsigned char* text, Py_ssize_t length
    ) noexcept


cdef inline long long int_object_bytes(object number) except -1:
    return 0 if number <= 256 else block_bytes(number.__sizeof__())


cdef inline long long dict_bytes(dict items) except -1:
    cdef long long size = items.__sizeof__()
    return block_bytes(dict_object_size + 16) + block_bytes(size - dict_object_size)
