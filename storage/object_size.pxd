# The memory that objects take, as storage/object_size.py says, in C.

from cpython.array cimport array


cdef extern from *:
    """
    #define rillway_list_room(items) (((PyListObject*) (items))->allocated)
    #define rillway_bytearray_room(text) (((PyByteArrayObject*) (text))->ob_alloc)
    #define rillway_set_room(items) ( \
        ((PySetObject*) (items))->table == ((PySetObject*) (items))->smalltable \
            ? 0 : (((PySetObject*) (items))->mask + 1) * sizeof(setentry))
    #define rillway_array_room(numbers) \
        (((arrayobject*) (numbers))->allocated * ((arrayobject*) (numbers))->ob_descr->itemsize)
    """
    Py_ssize_t rillway_list_room(list items) noexcept
    Py_ssize_t rillway_bytearray_room(bytearray text) noexcept
    Py_ssize_t rillway_array_room(array numbers) noexcept
    Py_ssize_t rillway_set_room(set items) noexcept
    Py_ssize_t dict_object_size "sizeof(PyDictObject)"
    Py_ssize_t set_object_size "sizeof(PySetObject)"


cdef inline long long block_bytes(long long request) noexcept:
    if request > 512:
        request += 8
    return (request + 15) & ~15LL


cdef inline long long bytes_object_bytes(long long length) noexcept:
    return block_bytes(33 + length)


cdef inline long long int_object_bytes(object number) except -1:
    return 0 if number <= 256 else block_bytes(number.__sizeof__())


cdef inline long long list_bytes(list items) noexcept:
    return 64 + block_bytes(8 * rillway_list_room(items))


cdef inline long long dict_bytes(dict items) except -1:
    cdef long long size = items.__sizeof__()
    return block_bytes(dict_object_size + 16) + block_bytes(size - dict_object_size)


cdef inline long long set_bytes(set items) noexcept:
    return block_bytes(set_object_size + 16) + block_bytes(rillway_set_room(items))


cdef inline long long array_bytes(array numbers) noexcept:
    return 80 + block_bytes(rillway_array_room(numbers))


cdef inline long long bytearray_bytes(bytearray text) noexcept:
    return 64 + block_bytes(rillway_bytearray_room(text))
