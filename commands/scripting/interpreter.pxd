# The C types of commands/scripting/interpreter.py.

from commands.scripting.lua_codecs cimport add_codecs
from commands.scripting.lua_stack cimport (
    COUNT_KBYTES,
    MOST_REPLY_BYTES,
    add_functions,
    answer_at,
    collector,
    fill_request,
    interface_names,
    lua_State,
    opened_native,
    opened_state,
    push_reply,
    pushnil,
    reference_of,
    release_lock,
    rillway_call,
    rillway_encode,
    rillway_memory,
    run_function,
    set_interface,
    take_over_memory,
    tonumber,
)
from protocol.request cimport Cutter, Request


cdef class Compiled:
    cdef public object function
    cdef public int number
    cdef public bint is_brief


cdef class Caller:
    cpdef bytes call_request(self, Request request)


cdef class Crossing:
    cdef Caller _caller
    cdef Cutter _request
    cdef object _native
    cdef object _table_from
    cdef object _used
    cdef object _bound
    cdef dict _runs
    cdef object _reply
    cdef long _base_bytes
    cdef public long limit_bytes
    cdef public bint is_direct
    cdef lua_State *_state
    cdef rillway_memory *_memory
    cdef int _native_at
    cdef int _functions_at
    cdef int _run_script_at
    cdef int _run_function_at

    cpdef long used_bytes(self)
    cpdef bint has_room(self, long size_bytes)
    cpdef bound(self, long limit_bytes)
    cpdef object run(self, Compiled function, bint is_script, int resp, list keys, list rest)


cdef bytes _NO_WORDS
cdef object _AS_ARGUMENT
cdef long _MARGIN_BYTES

cdef inline int call_on(lua_State *state, void *itself) noexcept:
    """redis.call with its arguments on the stack; then its value is, or its reply: returns 0."""
    cdef Crossing crossing = <Crossing> itself
    cdef bytes reply
    try:
        if fill_request(state, crossing._request, _AS_ARGUMENT):
            reply = crossing._caller.call_request(crossing._request)
        else:
            reply = _NO_WORDS
    except BaseException:
        reply = b"!ERR internal error, see the server's log\r\n"
    # Values take more memory than their bytes: a number of four bytes takes sixteen.
    cdef long size = len(reply)
    cdef long room = crossing.limit_bytes - _MARGIN_BYTES - crossing.used_bytes()
    if size >= room:
        pushnil(state)
        return 0
    return push_reply(state, reply, size <= MOST_REPLY_BYTES and 10 * size < room)

cdef inline int encode_on(lua_State *state, void *itself) noexcept:
    """Make a reply of the value on the stack, for which two versions of RESP follow."""
    try:
        reply = answer_at(state, 1, <int> tonumber(state, 2), <int> tonumber(state, 3))
    except BaseException:
        return False
    (<Crossing> itself)._reply = reply
    return reply is not None

cdef inline void set_handlers():
    global rillway_call, rillway_encode
    rillway_call, rillway_encode = call_on, encode_on

cdef inline void add_crossing(lua_State *state, int native, Crossing crossing):
    add_functions(state, native, <void *> crossing)


cdef class HostFunctions(Caller):
    cdef public bytes version
    cdef public long version_number


cdef class Interpreter:
    cdef object _lua
    cdef object _native
    cdef object _compile
    cdef object _collect
    cdef object _sethook
    cdef object _early_hook
    cdef Crossing _crossing
    cdef long _collect_at_bytes

    cpdef bint has_room(self, long size_bytes)
    cpdef object run_script(self, Compiled function, int resp, list keys, list rest)
    cpdef object run_function(self, Compiled function, int resp, list keys, list rest)
    cdef object _run(self, Compiled function, bint is_script, int resp, list keys, list rest)


cdef Py_ssize_t _memory_of(list texts)
