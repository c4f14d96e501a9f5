# The C types of commands/sorted_sets/scores.py.

from commands.core.client cimport Client
from commands.core.arguments cimport quick_double
from libc.string cimport memcpy
from protocol.python_api cimport (
    PyBytes_AS_STRING,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
    PyList_GET_ITEM,
    PyList_GET_SIZE,
    PyMem_Free,
    PyMem_Malloc,
)
from protocol cimport replies
from protocol.replies cimport DOUBLE_BYTES, bulk_size, put_plain_double, put_text
from protocol.request cimport Request
from storage.types.records cimport make_record, member_of, score_in, score_of
from storage.types.sets cimport SortedSetValue


cdef inline bytes make_members(bytes head, list records, int scores):
    """Members as bulk strings, after a header; `scores`: 0, or the version of RESP they are for."""
    cdef Py_ssize_t count = PyList_GET_SIZE(records)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(head)
    cdef Py_ssize_t index
    cdef char* begin
    cdef char* out
    for index in range(count):
        size += bulk_size(PyBytes_GET_SIZE(<object> PyList_GET_ITEM(records, index)) - 8)
    if not scores:
        made = PyBytes_FromStringAndSize(NULL, size)
        put_members(PyBytes_AS_STRING(made), head, records, 0)
        return made
    begin = <char*> PyMem_Malloc(size + count * (DOUBLE_BYTES + 12))
    if begin == NULL:
        raise MemoryError
    try:
        out = put_members(begin, head, records, scores)
        return PyBytes_FromStringAndSize(begin, out - begin)
    finally:
        PyMem_Free(begin)

cdef inline char* put_members(char* out, bytes head, list records, int scores) except NULL:
    """Write members where there is room for them; the place after the last one."""
    cdef Py_ssize_t index
    cdef bytes record
    memcpy(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    out += PyBytes_GET_SIZE(head)
    for index in range(PyList_GET_SIZE(records)):
        record = <bytes> PyList_GET_ITEM(records, index)
        if scores == 3:
            memcpy(out, b"*2\r\n", 4)
            out += 4
        out = put_text(out, PyBytes_AS_STRING(record) + 8, PyBytes_GET_SIZE(record) - 8)
        if scores:
            out = put_score(out, score_in(record), scores)
    return out

cdef inline char* put_score(char* out, double score, int resp) except NULL:
    """Write a score, for which there is room; the place after it."""
    cdef char text[DOUBLE_BYTES]
    cdef bytes long_form
    cdef Py_ssize_t size = put_plain_double(text, score)
    if not size:
        long_form = replies.format_double(score)
        size = PyBytes_GET_SIZE(long_form)
        memcpy(text, PyBytes_AS_STRING(long_form), size)
    if resp == 2:
        return put_text(out, text, size)
    out[0] = 44  # ,
    memcpy(out + 1, text, size)
    memcpy(out + 1 + size, b"\r\n", 2)
    return out + size + 3


cpdef bytes score_or_nil(bytes record, int resp)
cpdef bytes encoded(list records, int resp, bint with_scores, bytes header=*)


cdef Py_ssize_t _FEW_DIGITS
cdef int _ZERO
cdef long _EVENTS

cpdef double parse_score(bytes text) except? -1
cpdef bint excludes(bytes text) noexcept
cpdef long parse_rank(bytes text) except? -1
cpdef tuple rank_span(long start, long end, Py_ssize_t count)
cpdef tuple limited(Py_ssize_t start, Py_ssize_t end, long offset, long count, bint reverse)
cpdef object members_reply(list records, int resp, bint with_scores=*)


cdef class _Addition:
    cdef list scores
    cdef bint only_new
    cdef bint only_old
    cdef bint only_greater
    cdef bint only_less
    cdef bint counts_changes
    cdef bint is_increment
    cdef Py_ssize_t added
    cdef Py_ssize_t updated

    cdef bytes new_record(self, bytes member, double score, bytes former)


cdef bytes _add_one(Client client, bytes key, double score, bytes member)
cdef bytes _set_all(
    Client client, SortedSetValue value, _Addition request, list[bytes] words, Py_ssize_t at
)

cpdef bytes removed_reply(
    Client client, bytes key, SortedSetValue value, Py_ssize_t count, bytes event
)
cdef _remove_if_empty(Client client, bytes key, SortedSetValue value)
cpdef list pop_members(
    Client client, bytes key, SortedSetValue value, Py_ssize_t count, object end
)
cdef object _pop_from(Client client, Request argv, object end)
