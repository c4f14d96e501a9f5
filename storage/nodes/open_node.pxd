# The C types of storage/nodes/open_node.py.

from cpython.array cimport array
from libc.string cimport memcpy, memmove
from protocol.python_api cimport PyByteArray_AS_STRING, PyByteArray_Resize, PyBytes_AS_STRING
from storage.entries.entry cimport fields_header
from storage.entries.entry_id cimport entry_id_t, EntryIDs, id_ms, id_seq, make_id, numbers_of
from storage.memory cimport array_bytes, bytearray_bytes
from storage.redis_format.listpack_elements cimport FieldSizes, int64_bytes


cdef Py_ssize_t _ENTRY_HEADER_BYTES
cdef long _BUFFER_BYTES

cdef inline void put_entry(
    bytearray text, Py_ssize_t at, bytes id_bulk, bytes header, bytes fields
) noexcept:
    """Write an entry, for which there is room."""
    cdef char* out = PyByteArray_AS_STRING(text) + at
    memcpy(out, b"*2\r\n", 4)
    out += 4
    memcpy(out, PyBytes_AS_STRING(id_bulk), len(id_bulk))
    out += len(id_bulk)
    memcpy(out, PyBytes_AS_STRING(header), len(header))
    out += len(header)
    memcpy(out, PyBytes_AS_STRING(fields), len(fields))


cdef class EntryBuffer:
    cdef readonly Py_ssize_t count
    cdef bytearray _text
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef Py_ssize_t _first
    cdef array _ms
    cdef array _seqs
    cdef array _ends
    cdef bint _is_lent
    cdef bint _is_borrowed

    cpdef clear(self)
    cpdef append(
        self,
        unsigned long long ms,
        unsigned long long seq,
        bytes id_bulk,
        bytes fields,
        Py_ssize_t words,
    )
    cpdef append_encoded(self, unsigned long long ms, unsigned long long seq, bytes entry)
    cdef Py_ssize_t _add_row(
        self, unsigned long long ms, unsigned long long seq, Py_ssize_t size
    )
    cdef _make_room(self, Py_ssize_t size)
    cdef _move_down(self)
    cdef _make_room_for_numbers(self)
    cdef _move_numbers_down(self)
    cdef _move_text(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t to)
    cdef _own(self)
    cpdef entry_id_t id_at(self, Py_ssize_t place)
    cpdef add_ids_to(self, EntryIDs ids, Py_ssize_t low, Py_ssize_t high)
    cpdef Py_ssize_t place_of(self, entry_id_t entry_id) except -1
    cdef Py_ssize_t _start_of(self, Py_ssize_t place)
    cpdef bytes part(self, Py_ssize_t low, Py_ssize_t high)
    cpdef list entries(self, Py_ssize_t low, Py_ssize_t high)
    cpdef list parts(self, Py_ssize_t low, Py_ssize_t high)
    cpdef Py_ssize_t count_within(self, Py_ssize_t low, Py_ssize_t size)
    cpdef remove(self, Py_ssize_t low, Py_ssize_t high)
    cdef Py_ssize_t _move(
        self, Py_ssize_t low, Py_ssize_t high, Py_ssize_t place, Py_ssize_t to
    )
    cdef _shrink(self)
    cpdef long memory_bytes(self)


cdef FieldSizes _SIZES
cdef Py_ssize_t _MAX_NODE_BYTES
cdef Py_ssize_t _FLAGS_BYTES
cdef long _NODE_BYTES
cdef long _ID_BYTES


cdef class OpenNode:
    cdef public object key
    cdef public Py_ssize_t deleted
    cdef public object lost_end
    cdef public object shape
    cdef public Py_ssize_t entries_bytes
    cdef EntryBuffer _buffer
    cdef list _names
    cdef Py_ssize_t _header_bytes
    cdef unsigned long long _key_ms
    cdef unsigned long long _key_seq

    cpdef bint append(
        self,
        unsigned long long ms,
        unsigned long long seq,
        bytes id_bulk,
        bytes fields,
        Py_ssize_t words,
        Py_ssize_t max_entries,
        Py_ssize_t max_bytes,
    )
    cdef Py_ssize_t _id_bytes(self, unsigned long long ms, unsigned long long seq)
    cdef Py_ssize_t _size(self)
    cpdef long memory_bytes(self)
    cpdef tuple select(self, object start, object end, Py_ssize_t limit)
    cpdef list read_from(self, EntryIDs ids, object start, Py_ssize_t limit)
    cpdef add_ids_to(self, EntryIDs ids, object start, object end, Py_ssize_t limit)
    cpdef tuple _places(self, object start, object end)
