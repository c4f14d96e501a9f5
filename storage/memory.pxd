# What storage/memory.py says, in C.
#
# Inline, because most parts are a few bytes long, and in C itself: each module that imports these
# types has a copy of what is here, and of an inline function of Cython's twenty times as much.


cdef extern from *:
    """
    #include <string.h>

    static inline long rillway_block_bytes(long request) {
        return ((request > 512 ? request + 8 : request) + 15) & ~15LL;
    }

    static inline long rillway_bytes_object_bytes(long length) {
        return rillway_block_bytes(33 + length);
    }

    static inline long rillway_list_bytes(PyObject* items) {
        return 64 + rillway_block_bytes(8 * ((PyListObject*) items)->allocated);
    }

    static inline long rillway_set_bytes(PyObject* items) {
        PySetObject* set = (PySetObject*) items;
        long room = set->table == set->smalltable ? 0 : (set->mask + 1) * sizeof(setentry);
        return rillway_block_bytes(sizeof(PySetObject) + 16) + rillway_block_bytes(room);
    }

    static inline long rillway_size_of(PyObject* item) {
        PyObject* name = PyUnicode_InternFromString("__sizeof__");
        PyObject* size = name ? PyObject_CallMethodNoArgs(item, name) : NULL;
        long bytes = size ? PyLong_AsLong(size) : -1;
        Py_XDECREF(name);
        Py_XDECREF(size);
        return bytes;
    }

    static inline long rillway_int_object_bytes(PyObject* number) {
        int is_large;
        long value = PyLong_AsLongAndOverflow(number, &is_large), size;
        if (value == -1 && PyErr_Occurred()) return -1;
        if (is_large <= 0 && value <= 256) return 0;
        size = rillway_size_of(number);
        return size < 0 ? -1 : rillway_block_bytes(size);
    }

    static inline long rillway_dict_bytes(PyObject* items) {
        long own = sizeof(PyDictObject), size = rillway_size_of(items);
        return size < 0 ? -1 : rillway_block_bytes(own + 16) + rillway_block_bytes(size - own);
    }

    static inline long rillway_bytearray_bytes(PyObject* text) {
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
    long block_bytes "rillway_block_bytes"(long request) noexcept
    long bytes_object_bytes "rillway_bytes_object_bytes"(long length) noexcept
    long list_bytes "rillway_list_bytes"(list items) noexcept
    long int_object_bytes "rillway_int_object_bytes"(object number) except -1
    long dict_bytes "rillway_dict_bytes"(dict items) except -1
    long set_bytes "rillway_set_bytes"(set items) noexcept
    long bytearray_bytes "rillway_bytearray_bytes"(bytearray text) noexcept
    long array_bytes "rillway_array_bytes"(object numbers) noexcept
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
