# Asking for memory some steps before it is used.
#
# The pairs of a large sorted set are scattered over memory: a loop over them waits for each, and
# takes a third of the time if they are on their way. `prefetch` asks for a pair, and half as far
# ahead for one of its items. After the end of the list nothing is asked.
#
# It is a macro: of a function that only prefetches, GCC leaves out the calls.

cdef extern from *:
    """
    #define RILLWAY_AHEAD 16

    #define prefetch(pairs, place, item) do { \\
        Py_ssize_t count = PyList_GET_SIZE(pairs); \\
        if ((place) + 2 * RILLWAY_AHEAD < count) \\
            __builtin_prefetch(PyList_GET_ITEM(pairs, (place) + 2 * RILLWAY_AHEAD)); \\
        if ((place) + RILLWAY_AHEAD < count) \\
            __builtin_prefetch( \\
                PyTuple_GET_ITEM(PyList_GET_ITEM(pairs, (place) + RILLWAY_AHEAD), item)); \\
    } while (0)
    """
    void prefetch(list pairs, Py_ssize_t place, Py_ssize_t item)
