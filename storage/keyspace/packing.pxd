# How the values of a database are packed in the records of their keys.
#
# A record that is PACKED has a small value. The content of a string, and the packed items of a list
# or of a sorted set, follow the key; a hash or a set has its block of memory in place of an object.
# A record that is LENT has an object, which others refer to, and which gives its content back when
# it is freed. A record that is HELD keeps its object.
#
# Objects that were made last are kept for a while: those of keys that are used often are not made
# each time. One that has become large, or has left its record, is not kept: its memory would not be
# free although its key is deleted.

from libc.string cimport memcpy, memset
from protocol.python_api cimport (
    PyBytes_AS_STRING,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
    PyByteArray_AS_STRING,
    PyMem_Free,
    PyMem_Malloc,
    PyMem_Realloc,
    Py_DECREF,
    Py_INCREF,
)
from storage.keyspace.key_records cimport (
    Keys,
    Record,
    clear_slots,
    code_of,
    entries,
    free_keys,
    record_bytes,
    record_in,
    replace_record,
    rillway_enter_key,
    slots,
    span,
)
from storage.keyspace.key_table cimport KeyTable
from storage.memory cimport block_bytes
from storage.types.blocks cimport number_at
from storage.types.hashes cimport HashValue
from storage.types.key_part cimport MEMBERS, PAIRS
from storage.types.lists cimport ListValue
from storage.types.packed_table cimport COUNT, PackedTable, give_up, memory_of
from storage.types.sets cimport SetValue, SortedSetValue
from storage.types.value cimport StringValue, Value


cdef enum:
    PACKED = 0
    LENT = 1
    HELD = 2

cdef enum:
    STRING = 1
    LIST = 2
    SORTED_SET = 3
    HASH = 4
    SET = 5

cdef enum:
    # The most bytes of what is packed, and of a block that is kept.
    MOST_TEXT = 256
    MOST_BLOCK = 1024


cdef extern from *:
    """
    static PyObject* rillway_recent[512];

    /* Keeps an object until another one is kept in its place. */
    static inline void rillway_keep_recent(PyObject* value, const void* record) {
        size_t place = ((size_t) record >> 4) % 512;
        PyObject* former = rillway_recent[place];
        rillway_recent[place] = Py_NewRef(value);
        Py_XDECREF(former);
    }

    static inline void rillway_forget_recent(const void* value, const void* record) {
        PyObject** place = &rillway_recent[((size_t) record >> 4) % 512];
        if (*place == (PyObject*) value) Py_CLEAR(*place);
    }

    #define rillway_recent_at(place) ((void*) rillway_recent[place])
    """
    void keep_recent "rillway_keep_recent"(object value, const void* record)
    void forget_recent "rillway_forget_recent"(const void* value, const void* record)
    void* recent_at "rillway_recent_at"(Py_ssize_t place)


cdef inline long bytes_of(const Record* record) noexcept:
    return block_bytes(record_bytes(record.key_length, record.length))


cdef inline long counted_of(const Record* record) noexcept:
    cdef long total = bytes_of(record)
    if record.state != PACKED:
        return total + (<Value> record.holder).counted_bytes
    return total + (memory_of(<unsigned char*> record.holder) if record.kind >= HASH else 0)


cdef inline bint has_object(const Record* record) noexcept:
    return record.state != PACKED


cdef inline unsigned char _kind_of(Value value) noexcept:
    """The kind of a value that is small enough to be packed, or 0."""
    cdef PackedTable table
    if type(value) is StringValue:
        return STRING if len((<StringValue> value).data) <= MOST_TEXT else 0
    if type(value) is HashValue:
        if (<HashValue> value).expires is not None:
            return 0
    elif type(value) is ListValue:
        if (<ListValue> value)._many is not None:
            return 0
        return LIST if PyBytes_GET_SIZE((<ListValue> value)._few) <= MOST_TEXT else 0
    elif type(value) is SortedSetValue:
        if (<SortedSetValue> value)._table is not None:
            return 0
        return SORTED_SET if PyBytes_GET_SIZE((<SortedSetValue> value)._few) <= MOST_TEXT else 0
    elif type(value) is not SetValue:
        return 0
    table = <PackedTable> value
    if table._depth or table._memory > MOST_BLOCK or table._memory != memory_of(table._block):
        return 0
    return HASH if type(value) is HashValue else SET


cdef inline Value _unpacked(Record* record):
    """The object of a value."""
    cdef StringValue string
    cdef ListValue few
    cdef SortedSetValue scored
    cdef PackedTable table
    cdef unsigned char* block
    cdef bytes text
    if record.kind == HASH or record.kind == SET:
        if record.kind == HASH:
            table = HashValue.__new__(HashValue)
        else:
            table = SetValue.__new__(SetValue)
        block = <unsigned char*> record.holder
        table._kind = PAIRS if record.kind == HASH else MEMBERS
        table.is_ordered = record.form != 2
        table._block = block
        table._memory = memory_of(block)
        table._count = number_at(block, COUNT)
        return table
    text = PyBytes_FromStringAndSize(record.text + record.key_length, record.length)
    if record.kind == STRING:
        string = StringValue.__new__(StringValue)
        string.data = text
        return string
    if record.kind == LIST:
        few = ListValue.__new__(ListValue)
        few._few = text
        few._length = <Py_ssize_t> record.holder
        return few
    scored = SortedSetValue.__new__(SortedSetValue)
    scored._few = text
    return scored


cdef inline Record* new_record(
    KeyTable table, bytes key, unsigned long long code, Value value
) except NULL:
    cdef Py_ssize_t length = PyBytes_GET_SIZE(key), room = 0
    cdef unsigned char kind = _kind_of(value)
    cdef Record* record
    if kind == STRING:
        room = len((<StringValue> value).data)
    elif kind == LIST:
        room = PyBytes_GET_SIZE((<ListValue> value)._few)
    elif kind == SORTED_SET:
        room = PyBytes_GET_SIZE((<SortedSetValue> value)._few)
    record = <Record*> PyMem_Malloc(record_bytes(length, room))
    if record == NULL:
        raise MemoryError
    memset(record, 0, record_bytes(0, 0))
    record.key_length = <unsigned int> length
    record.length = <unsigned int> room
    memcpy(record.text, PyBytes_AS_STRING(key), length)
    if rillway_enter_key(table._keys, record, code) < 0:
        PyMem_Free(record)
        raise MemoryError
    return record


cdef inline void hold(KeyTable table, Record* record, Value value) noexcept:
    Py_INCREF(value)
    record.holder = <void*> value
    record.state = HELD
    record.serial = value.serial
    value._record = record
    value._keeper = None


cdef inline Value value_of(KeyTable table, Record* record):
    cdef Value value
    if record.state != PACKED:
        return <Value> record.holder
    value = _unpacked(record)
    value.access_ms = record.access_ms
    value.serial = record.serial
    value.deadline = record.deadline
    value.frequency = record.frequency
    value.form = record.form
    if record.kind >= HASH:
        table.record_bytes -= (<PackedTable> value)._memory
    value._record = record
    value._keeper = table
    record.holder = <void*> value
    record.state = LENT
    keep_recent(value, record)
    return value


cdef inline Value let_go(KeyTable table, Record* record):
    cdef Value value = value_of(table, record)
    if record.state == HELD:
        Py_DECREF(value)
    else:
        forget_recent(<void*> value, record)
    record.state = PACKED
    record.kind = 0
    value._record = NULL
    value._keeper = None
    return value


cdef inline int weigh(KeyTable table, Value value) except -1:
    cdef Record* record = <Record*> value._record
    if record == NULL:
        return 0
    if _kind_of(value):
        if record.state == HELD:
            record.state = LENT
            value._keeper = table
            Py_DECREF(value)
    elif record.state == LENT:
        hold(table, record, value)
        forget_recent(<void*> value, record)
    return 0


cdef inline Record* _resized(KeyTable table, Record* record, Py_ssize_t length) noexcept:
    """A record with room for a text, perhaps elsewhere; NULL without memory for it."""
    cdef size_t former = <size_t> record
    cdef long former_bytes = bytes_of(record)
    cdef Record* made
    if length == record.length:
        return record
    made = <Record*> PyMem_Realloc(record, record_bytes(record.key_length, length))
    if made == NULL:
        return NULL
    made.length = <unsigned int> length
    table.record_bytes += bytes_of(made) - former_bytes
    if <size_t> made != former:
        replace_record(table._keys, former, made, code_of(made))
    return made


cdef inline int _pack_text(
    KeyTable table, Record* record, const char* text, Py_ssize_t length, Py_ssize_t count
) noexcept:
    record = _resized(table, record, length)
    if record == NULL:
        return -1
    memcpy(record.text + record.key_length, text, length)
    record.holder = <void*> count
    return 0


cdef inline int _pack(KeyTable table, Record* record, Value value, unsigned char kind) noexcept:
    """Pack a small value in its record; -1 without memory for it."""
    cdef object data
    cdef bytes few
    cdef PackedTable packed
    record.kind = kind
    record.form = value.form
    record.access_ms = value.access_ms
    record.frequency = value.frequency
    record.deadline = value.deadline
    record.state = PACKED
    if kind >= HASH:
        packed = <PackedTable> value
        record.holder = packed._block
        table.record_bytes += packed._memory
        packed._block = NULL
        _resized(table, record, 0)
        return 0
    if kind == STRING:
        data = (<StringValue> value).data
        return _pack_text(
            table,
            record,
            PyBytes_AS_STRING(data) if type(data) is bytes else PyByteArray_AS_STRING(data),
            len(data),
            0,
        )
    if kind == LIST:
        few = (<ListValue> value)._few
        return _pack_text(
            table,
            record,
            PyBytes_AS_STRING(few),
            PyBytes_GET_SIZE(few),
            (<ListValue> value)._length,
        )
    few = (<SortedSetValue> value)._few
    return _pack_text(table, record, PyBytes_AS_STRING(few), PyBytes_GET_SIZE(few), 0)


cdef inline int take_back(KeyTable table, Value value) except -1:
    cdef Record* record = <Record*> value._record
    cdef unsigned char kind = _kind_of(value)
    cdef Value twin
    value._record = NULL
    table.record_bytes -= value.counted_bytes
    if kind and _pack(table, record, value, kind) == 0:
        return 0
    # No change that makes a value large leaves it uncounted; and there is memory for a copy.
    twin = value.copy()
    twin.access_ms = value.access_ms
    twin.serial = value.serial
    twin.deadline = value.deadline
    twin.frequency = value.frequency
    twin.counted_bytes = 0
    hold(table, record, twin)
    return 0


cdef inline void forget_all(KeyTable table):
    cdef Py_ssize_t place
    cdef void* value
    for place in range(512):
        value = recent_at(place)
        if value != NULL and (<Value> value)._keeper is table:
            forget_recent(value, (<Value> value)._record)


cdef inline void _drop(Record* record) noexcept:
    """Free a record with what it has."""
    if record.state == PACKED:
        if record.kind >= HASH:
            give_up(<unsigned char*> record.holder)
    else:
        (<Value> record.holder)._record = NULL
        (<Value> record.holder)._keeper = None
        if record.state == HELD:
            Py_DECREF(<Value> record.holder)
        else:
            forget_recent(record.holder, record)
    PyMem_Free(record)


cdef inline Py_ssize_t take_segment(KeyTable table, Py_ssize_t entry, list values) except -1:
    cdef Keys* keys = table._keys
    cdef Py_ssize_t slot
    cdef Record* record
    for slot in range(slots(keys, entry)):
        record = record_in(keys, entry, slot)
        if record != NULL:
            if record.state == HELD:
                values.append(<Value> record.holder)
            _drop(record)
    clear_slots(keys, entry)
    return entry + span(keys, entry)


cdef inline void free_all(KeyTable table) noexcept:
    cdef Py_ssize_t entry = 0, slot
    cdef Keys* keys = table._keys
    cdef Record* record
    if keys == NULL:
        return
    while entry < entries(keys):
        for slot in range(slots(keys, entry)):
            record = record_in(keys, entry, slot)
            if record != NULL:
                _drop(record)
        entry += span(keys, entry)
    free_keys(keys)
    table._keys = NULL
