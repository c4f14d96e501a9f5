# The C types of commands/core/background_work.py.




cdef class BackgroundWork:
    cdef dict __dict__
    cdef object _freeing
    cdef object _tidying
    cdef object _answering
