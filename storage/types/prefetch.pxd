# Asking for memory some steps before it is used.
#
# The pairs of a large sorted set are scattered over memory: a loop over them waits for each, and
# takes a third of the time if they are on their way. After the end of the list nothing is asked.
#
# These are macros: of a function that only prefetches, GCC leaves out the calls.

cdef extern from *:
    """
    #define RILLWAY_AHEAD 16

    #define prefetch_pair(pairs, place) do { \\
        if ((place) + 2 * RILLWAY_AHEAD < PyList_GET_SIZE(pairs)) \\
            __builtin_prefetch(PyList_GET_ITEM(pairs, (place) + 2 * RILLWAY_AHEAD)); \\
    } while (0)

    #define prefetch_item(pairs, place, item) do { \\
        if ((place) + RILLWAY_AHEAD < PyList_GET_SIZE(pairs)) \\
            __builtin_prefetch( \\
                PyTuple_GET_ITEM(PyList_GET_ITEM(pairs, (place) + RILLWAY_AHEAD), item)); \\
    } while (0)
    """
    void prefetch_pair(list pairs, Py_ssize_t place)
    void prefetch_item(list pairs, Py_ssize_t place, Py_ssize_t item)
