# Asking for memory some steps before it is used.
#
# The records of a large sorted set are scattered over memory: a loop over them waits for each, and
# takes a third of the time if they are on their way. After the end of the list nothing is asked.
#
# It is a macro: of a function that only prefetches, GCC leaves out the calls.

cdef extern from *:
    """
    #define RILLWAY_AHEAD 16

    #define prefetch(records, place) do { \\
        if ((place) + RILLWAY_AHEAD < PyList_GET_SIZE(records)) \\
            __builtin_prefetch(PyList_GET_ITEM(records, (place) + RILLWAY_AHEAD)); \\
    } while (0)
    """
    void prefetch(list records, Py_ssize_t place)
