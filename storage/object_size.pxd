# The C types of storage/object_size.py.

cpdef Py_ssize_t block_size(Py_ssize_t requested) noexcept
cpdef Py_ssize_t bytes_size(Py_ssize_t length) noexcept
