# What C types use of Python's C API.
#
# Cython's own declarations (cpython/*.pxd) take 1,400 lines, which each module that imports them
# reads when it is compiled. Where the inside of an array is needed, cpython/array.pxd is used.

cdef extern from "Python.h":
    ctypedef struct PyObject

    void Py_INCREF(object item)
    void Py_DECREF(object item)
    Py_hash_t PyObject_Hash(object item) except? -1

    void* PyMem_Malloc(size_t size)
    void* PyMem_Realloc(void* block, size_t size)
    void PyMem_Free(void* block)

    bytes PyBytes_FromStringAndSize(char* text, Py_ssize_t size)
    char* PyBytes_AS_STRING(object text)
    Py_ssize_t PyBytes_GET_SIZE(object text)

    bytearray PyByteArray_FromStringAndSize(char* text, Py_ssize_t size)
    char* PyByteArray_AS_STRING(object text)
    int PyByteArray_Resize(object text, Py_ssize_t size) except -1

    PyObject* PyList_GET_ITEM(object items, Py_ssize_t place)
    Py_ssize_t PyList_GET_SIZE(object items)

    int PyDict_Next(object items, Py_ssize_t* position, PyObject** key, PyObject** item)
