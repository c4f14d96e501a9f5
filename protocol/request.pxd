# The C types of protocol/request.py.


cdef Py_ssize_t _SHORT_BYTES
cdef Py_ssize_t _SHORT_WORDS


cdef class Request:
    cdef list _words
    cdef bytes _wire
    cdef public Py_ssize_t count
    cdef public bint takes_long

    cpdef list words(self)
    cdef list _cut(self)
    cpdef bytes word(self, Py_ssize_t index)
    cpdef unsigned int slot(self, Py_ssize_t index) except? 0xFFFFFFFF
    cpdef bint is_word(self, Py_ssize_t index, bytes text)
    cpdef bint is_byte(self, Py_ssize_t index, int byte)
    cpdef Py_ssize_t words_bytes(self)
    cpdef bytes head(self, Py_ssize_t index)
    cpdef bytes tail(self, Py_ssize_t index)
    cpdef bytes part(self, Py_ssize_t index, Py_ssize_t end)
    cpdef bytes whole(self)
    cpdef object identity(self)
    cpdef bint is_short(self)
    cpdef Request keep(self)
    cpdef bytes wire(self)


cpdef Request unparsed(bytes wire, Py_ssize_t count)
cpdef Request of_words(list words)


cdef Py_ssize_t _MAX_DIGITS
cdef Py_ssize_t _LEAST_WORD_BYTES
cdef Py_ssize_t _KEPT_WORDS
cdef unsigned int _MASK
cdef unsigned short _REMAINDERS[256]


cdef class Cutter(Request):
    cdef public bytes data
    cdef public Py_ssize_t position
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef long* _places  # where each word begins, and its length
    cdef Py_ssize_t _room

    cpdef load(self, bytes data, Py_ssize_t position=*)
    cpdef bint next(self)
    cdef _make_room(self, Py_ssize_t count)
    cdef Py_ssize_t _bulk_start(self, Py_ssize_t index)


cdef extern from *:
    """
    /* Room for the places of `words` words; NULL, with an exception, if there is none. */
    static inline long* rillway_resized(long* places, Py_ssize_t words) {
        places = (long*) PyMem_Realloc(places, 2 * words * sizeof(long));
        return places ? places : (long*) PyErr_NoMemory();
    }
    """
    long* resized "rillway_resized"(long* places, Py_ssize_t words) except NULL
    void free_places "PyMem_Free"(long* places) noexcept


cpdef unsigned int key_slot(bytes key)
cpdef unsigned int slot_of_part(const unsigned char* data, Py_ssize_t start, Py_ssize_t end)
