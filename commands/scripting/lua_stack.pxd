# The direct way to Lua, for commands/scripting/interpreter.py: the C interface of the Lua that lupa
# brings along, and what moves values over its stack without objects of lupa.
#
# lupa's extension module exports that interface (for C modules of Lua); ctypes finds it there, as
# dlsym() would tie what is compiled to the newest glibc.
# Rules, which the compiler does not enforce:
#   - A function of Lua that allocates raises an error of Lua if there is no memory: a longjmp, which
#     would skip the references that Python's objects hold. So callers check first that there is room
#     (Interpreter.has_room).
#   - Only `run_conclusion`, which holds no object, lets errors of Lua pass through.
#   - 20 slots of the stack are free in a C function: DEPTH is the bound of nested values.

from libc.string cimport memchr, memcmp, memcpy
from protocol.python_api cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from protocol.replies cimport bulk_size, integer, put_digits, put_line, put_text
from protocol.request cimport Cutter

cdef extern from *:
    """
    typedef struct lua_State lua_State;
    typedef int (*rillway_function)(lua_State *);

    typedef void *(*rillway_allocator)(void *, void *, size_t, size_t);

    #define LUA_FUNCTIONS(F) \\
        F(int, gettop, (lua_State *)) \\
        F(void, settop, (lua_State *, int)) \\
        F(void, pushvalue, (lua_State *, int)) \\
        F(void, remove, (lua_State *, int)) \\
        F(void, insert, (lua_State *, int)) \\
        F(int, checkstack, (lua_State *, int)) \\
        F(int, type, (lua_State *, int)) \\
        F(int, rawequal, (lua_State *, int, int)) \\
        F(double, tonumber, (lua_State *, int)) \\
        F(int, toboolean, (lua_State *, int)) \\
        F(const char *, tolstring, (lua_State *, int, size_t *)) \\
        F(void *, touserdata, (lua_State *, int)) \\
        F(void, pushnil, (lua_State *)) \\
        F(void, pushnumber, (lua_State *, double)) \\
        F(void, pushlstring, (lua_State *, const char *, size_t)) \\
        F(void, pushboolean, (lua_State *, int)) \\
        F(void, pushlightuserdata, (lua_State *, void *)) \\
        F(void, pushcclosure, (lua_State *, rillway_function, int)) \\
        F(void, createtable, (lua_State *, int, int)) \\
        F(void, getfield, (lua_State *, int, const char *)) \\
        F(void, setfield, (lua_State *, int, const char *)) \\
        F(void, rawgeti, (lua_State *, int, int)) \\
        F(void, rawset, (lua_State *, int)) \\
        F(void, rawseti, (lua_State *, int, int)) \\
        F(int, next, (lua_State *, int)) \\
        F(void, call, (lua_State *, int, int)) \\
        F(int, pcall, (lua_State *, int, int, int)) \\
        F(int, gc, (lua_State *, int, int)) \\
        F(void, setallocf, (lua_State *, rillway_allocator, void *))

    #define DECLARED(result, name, arguments) result (*name) arguments;
    static struct {
        LUA_FUNCTIONS(DECLARED)
        int (*ref)(lua_State *, int);
    } lua;

    #define NAME(result, name, arguments) "lua_" #name,
    static const char *const lua_names[] = { LUA_FUNCTIONS(NAME) "luaL_ref", NULL };

    #define REGISTRY (-10000)
    #define UPVALUE(index) (-10002 - (index))

    /* What redis.call and the encoder do in Python: set once, when the module is imported. */
    static int (*rillway_call)(lua_State *, void *);
    static int (*rillway_encode)(lua_State *, void *);

    /* How many bytes the reply that is made may still take: tables may be in others many times. */
    static long rillway_left;
    static long rillway_text;  /* the bytes of its strings so far */

    /* redis.call, a closure of its crossing and of what makes a value, or an error, of a reply that
       was not made one here. */
    static int run_conclusion(lua_State *state) {
        PyGILState_STATE held = PyGILState_Ensure();
        int is_value = rillway_call(state, lua.touserdata(state, UPVALUE(1)));
        PyGILState_Release(held);
        if (!is_value) {
            lua.pushvalue(state, UPVALUE(2));
            lua.insert(state, -2);
            lua.call(state, 1, 1);
        }
        return 1;
    }

    /* make_caller(conclude): a function like redis.call. */
    static int make_caller(lua_State *state) {
        lua.settop(state, 1);
        lua.pushvalue(state, UPVALUE(1));
        lua.insert(state, 1);
        lua.pushcclosure(state, run_conclusion, 2);
        return 1;
    }

    /* encode(value, resp, script_resp): whether the reply of a script was made of its result. */
    static int encode(lua_State *state) {
        PyGILState_STATE held = PyGILState_Ensure();
        int is_made = rillway_encode(state, lua.touserdata(state, UPVALUE(1)));
        PyGILState_Release(held);
        lua.pushboolean(state, is_made);
        return 1;
    }

    /* Go on in Lua: the first upvalue of a closure is its function there. */
    static int call_fallback(lua_State *state) {
        lua.pushvalue(state, UPVALUE(1));
        lua.insert(state, 1);
        lua.call(state, lua.gettop(state) - 1, -1);
        return lua.gettop(state);
    }

    /* A closure of a function of C, with all arguments as upvalues. */
    static int make_closure(lua_State *state) {
        rillway_function function = (rillway_function) lua.touserdata(state, UPVALUE(1));
        lua.pushcclosure(state, function, lua.gettop(state));
        return 1;
    }

    static void add_maker(
        lua_State *state, int native, const char *name, rillway_function function
    ) {
        lua.rawgeti(state, REGISTRY, native);
        lua.pushlightuserdata(state, (void *) function);
        lua.pushcclosure(state, make_closure, 1);
        lua.setfield(state, -2, name);
        lua.settop(state, -2);
    }

    /* Called by Lua (package.loadlib), with the table `native`: the way to a state of lupa. */
    static lua_State *opened_state;
    static int opened_native;
    __attribute__((visibility("default"))) int rillway_open(lua_State *state) {
        lua.settop(state, 1);
        opened_native = lua.ref(state, REGISTRY);
        opened_state = state;
        return 0;
    }

    static void add_functions(lua_State *state, int native, void *crossing) {
        lua.rawgeti(state, REGISTRY, native);
        lua.pushlightuserdata(state, crossing);
        lua.pushcclosure(state, make_caller, 1);
        lua.setfield(state, -2, "make_caller");
        lua.pushlightuserdata(state, crossing);
        lua.pushcclosure(state, encode, 1);
        lua.setfield(state, -2, "encode");
        lua.settop(state, -2);
    }

    static int reference_of(lua_State *state, int native, const char *name) {
        int reference;
        lua.rawgeti(state, REGISTRY, native);
        lua.getfield(state, -1, name);
        reference = lua.ref(state, REGISTRY);
        lua.settop(state, -2);
        return reference;
    }

    /* The memory of a state comes from Python's allocator, which is quicker with small blocks than
       that of C: scripts leave hundreds of closures to the collector. It takes back blocks that the
       other one has made, and needs the lock, which lupa's own calls release. A state has one user, a
       thread: if that holds the lock while Lua runs, it is this one. Asking for more takes longer. */
    typedef struct { size_t used, limit; PyThreadState *user; } rillway_memory;
    #if PY_VERSION_HEX >= 0x030D0000
    #define rillway_lock_holder PyThreadState_GetUnchecked
    #else
    #define rillway_lock_holder _PyThreadState_UncheckedGet
    #endif
    static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
        rillway_memory *memory = (rillway_memory *) data;
        size_t used = memory->used - (block ? old_size : 0) + new_size;
        PyGILState_STATE held = PyGILState_LOCKED;
        int is_held;
        if (used > memory->used && memory->limit && used > memory->limit) return NULL;
        is_held = rillway_lock_holder() == memory->user || PyGILState_Check();
        if (!is_held) held = PyGILState_Ensure();
        if (new_size) {
            block = PyObject_Realloc(block, new_size);
        } else {
            PyObject_Free(block);
            block = NULL;
        }
        if (!is_held) PyGILState_Release(held);
        if (block || !new_size) memory->used = used;
        if (!used) PyMem_RawFree(memory);  /* the state is closed */
        return block;
    }

    /* NULL without an exception: the memory stays with lupa, as Python's allocator takes no blocks
       of others. It has a context if it looks at what is around a block (PYTHONMALLOC=debug,
       python -X dev). */
    static rillway_memory *take_over_memory(lua_State *state) {
        rillway_memory *memory;
        PyMemAllocatorEx allocator;
        const char *chosen = getenv("PYTHONMALLOC");
        PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &allocator);
        if (allocator.ctx || (chosen && !strncmp(chosen, "mimalloc", 8))) return NULL;
    #ifdef Py_GIL_DISABLED
        return NULL;
    #endif
        memory = (rillway_memory *) PyMem_RawCalloc(1, sizeof(rillway_memory));
        if (!memory) return (rillway_memory *) PyErr_NoMemory();
        memory->user = PyThreadState_Get();
        memory->used = (size_t) lua.gc(state, 3, 0) * 1024 + lua.gc(state, 4, 0);
        lua.setallocf(state, allocate, memory);
        return memory;
    }

    static void release_lock(void) { Py_BEGIN_ALLOW_THREADS Py_END_ALLOW_THREADS }
    """
    ctypedef struct lua_State
    ctypedef int (*rillway_function)(lua_State *) noexcept
    ctypedef int (*handler_t)(lua_State *, void *) noexcept
    handler_t rillway_call, rillway_encode
    long rillway_left, rillway_text
    lua_State *opened_state
    int opened_native, REGISTRY
    const char *const *lua_names
    void *lua
    void add_functions(lua_State *state, int native, void *crossing)
    int upvalue "UPVALUE"(int index)
    int call_fallback(lua_State *state)
    void add_maker(lua_State *state, int native, const char *name, rillway_function function)
    int reference_of(lua_State *state, int native, const char *name)
    ctypedef struct rillway_memory:
        size_t used, limit
    rillway_memory *take_over_memory(lua_State *state) except? NULL
    void release_lock()

    int gettop "lua.gettop" (lua_State *)
    void settop "lua.settop" (lua_State *, int)
    void pushvalue "lua.pushvalue" (lua_State *, int)
    void remove "lua.remove" (lua_State *, int)
    int checkstack "lua.checkstack" (lua_State *, int)
    int type_of "lua.type" (lua_State *, int)
    int rawequal "lua.rawequal" (lua_State *, int, int)
    double tonumber "lua.tonumber" (lua_State *, int)
    bint toboolean "lua.toboolean" (lua_State *, int)
    const char *tolstring "lua.tolstring" (lua_State *, int, size_t *)
    void pushnil "lua.pushnil" (lua_State *)
    void pushnumber "lua.pushnumber" (lua_State *, double)
    void pushlstring "lua.pushlstring" (lua_State *, const char *, size_t)
    void pushboolean "lua.pushboolean" (lua_State *, int)
    void createtable "lua.createtable" (lua_State *, int, int)
    void setfield "lua.setfield" (lua_State *, int, const char *)
    void rawgeti "lua.rawgeti" (lua_State *, int, int)
    void rawset "lua.rawset" (lua_State *, int)
    void rawseti "lua.rawseti" (lua_State *, int, int)
    int lua_next "lua.next" (lua_State *, int)
    int pcall "lua.pcall" (lua_State *, int, int, int)
    int collector "lua.gc" (lua_State *, int, int)

cdef enum:
    NIL, BOOLEAN, LIGHT, NUMBER, STRING, TABLE, FUNCTION, USERDATA
    COUNT_KBYTES = 3
    DEPTH = 6
    # Longer ones are left to Lua, which can be stopped meanwhile.
    MOST_ITEMS = 1000
    MOST_REPLY_BYTES = 32768
    # What a request of a script has room for; a longer one gets its own.
    REQUEST_BYTES = 65536
    # For a line, and for the text of a number with its line.
    LINE_BYTES = 64
    MOST_RESULT_BYTES = 1048576
    VALUE_BYTES = 16
    # Bytes of a string for each byte of that.
    STRING_SHARE = 32
    # A result with strings of this size is answered in parts, each of which is no longer than this.
    LONG_TEXT_BYTES = 1048576
    PART_BYTES = 131072


# -- the interface ---------------------------------------------------------------------------------

cdef inline list interface_names():
    """The functions of Lua that are called here."""
    cdef list names = []
    cdef int at = 0
    while lua_names[at] != NULL:
        names.append((<bytes> lua_names[at]).decode())
        at += 1
    return names

cdef inline void set_interface(list addresses):
    """Where these functions are, in the same order."""
    cdef int at = 0
    for address in addresses:
        (<size_t *> &lua)[at] = address
        at += 1


# -- from Lua --------------------------------------------------------------------------------------

cdef inline bytes text_at(lua_State *state, int index):
    """The string at a place of the stack."""
    cdef size_t size
    cdef const char *text = tolstring(state, index, &size)
    return PyBytes_FromStringAndSize(text, size)

cdef inline bytes decimal(long number):
    """A number as text."""
    cdef char line[24]
    cdef char *start = put_digits(line + 24, number)
    return PyBytes_FromStringAndSize(start, line + 24 - start)

cdef inline bint fill_request(lua_State *state, Cutter request, object as_argument) except -1:
    """Make a request of the arguments of redis.call; False if one is no string and no number.

    They are written as RESP into bytes of its own, which are used again for the next one.
    """
    cdef int count = gettop(state), index, kind
    cdef Py_ssize_t room = LINE_BYTES
    cdef size_t size
    for index in range(1, count + 1):
        kind = type_of(state, index)
        room += LINE_BYTES
        if kind == STRING:
            tolstring(state, index, &size)
            room += size
        elif kind != NUMBER:
            return False
    if room > REQUEST_BYTES or PyBytes_GET_SIZE(request.data) != REQUEST_BYTES:
        request.load(PyBytes_FromStringAndSize(NULL, max(room, <Py_ssize_t> REQUEST_BYTES)))
    if count > request._room:
        request._make_room(count)
    cdef char line[LINE_BYTES]
    cdef char *end = line + LINE_BYTES
    cdef char *data = PyBytes_AS_STRING(request.data)
    cdef char *start = put_line(end, 42, count)  # *
    cdef char *out = data + (end - start)
    cdef const char *text
    cdef bytes shown
    cdef double number
    memcpy(data, start, end - start)
    for index in range(count):
        if type_of(state, index + 1) == STRING:
            text = tolstring(state, index + 1, &size)
        else:
            number = tonumber(state, index + 1)
            if -4e18 < number < 4e18 and number == <double> <long> number:
                text = put_digits(end, <long> number)
                size = end - text
            else:
                shown = as_argument(number)
                text, size = PyBytes_AS_STRING(shown), PyBytes_GET_SIZE(shown)
        request._places[2 * index + 1] = size
        out = put_text(out, text, size)
        request._places[2 * index] = out - data - size - 2
    request.count, request.position = count, out - data
    request._start, request._words, request.takes_long = 0, None, False
    return True

cdef inline bytes bulk_at(lua_State *state, int index):
    """The string at a place of the stack, as a bulk string."""
    cdef char line[24]
    cdef size_t size
    cdef const char *text = tolstring(state, index, &size)
    cdef char *start = put_line(line + 24, 36, size)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, bulk_size(size))
    cdef char *out = PyBytes_AS_STRING(made)
    memcpy(out, start, line + 24 - start)
    out += line + 24 - start
    memcpy(out, text, size)
    memcpy(out + size, b"\r\n", 2)
    return made

cdef inline bytes status_at(lua_State *state, int index):
    """The string at a place of the stack, as a simple string; None if it is not one line."""
    cdef size_t size
    cdef const char *text = tolstring(state, index, &size)
    if memchr(text, 13, size) or memchr(text, 10, size) or memchr(text, 0, size):
        return None
    return b"+" + text[:size] + b"\r\n"

cdef inline list parts_at(lua_State *state, int index):
    """The string at a place of the stack, as a bulk string in parts.

    The allocator keeps their memory for the next reply; that of one large string would be new each
    time, which takes far longer than to copy the string.
    """
    cdef size_t size, at = 0
    cdef const char *text = tolstring(state, index, &size)
    cdef list parts = [b"$" + decimal(size) + b"\r\n"]
    while at < size:
        parts.append(PyBytes_FromStringAndSize(text + at, min(size - at, <size_t> PART_BYTES)))
        at += PART_BYTES
    parts.append(b"\r\n")
    return parts

cdef inline object answer_at(lua_State *state, int index, int resp, int script_resp):
    """`reply_at` of the result of a script; a list of its parts if it is long."""
    global rillway_left, rillway_text
    cdef size_t size
    rillway_left, rillway_text = MOST_RESULT_BYTES, 0
    if type_of(state, index) == STRING:
        tolstring(state, index, &size)
        if size >= LONG_TEXT_BYTES:
            return parts_at(state, index)
    return reply_at(state, index, resp, script_resp, 0)

cdef inline object reply_at(lua_State *state, int index, int resp, int script_resp, int depth):
    """The reply that a value stands for; None if it is none of the usual ones.

    Then more may be on the stack.
    """
    global rillway_left, rillway_text
    cdef int kind = type_of(state, index)
    cdef double number
    cdef size_t size
    rillway_left -= VALUE_BYTES
    if kind == STRING:
        tolstring(state, index, &size)
        rillway_text += size
        rillway_left -= size // STRING_SHARE
    if rillway_left < 0:
        return None  # Lua makes it, which can be stopped and has a limit of memory
    if kind == STRING:
        return bulk_at(state, index)
    if kind == NUMBER:
        number = tonumber(state, index)
        if -9.2e18 < number < 9.2e18:
            return integer(<long> number)
        return None
    if kind == NIL or (kind == BOOLEAN and script_resp < 3):
        if kind == BOOLEAN and toboolean(state, index):
            return b":1\r\n"
        return b"_\r\n" if resp == 3 else b"$-1\r\n"
    if kind == TABLE and depth < DEPTH:
        return table_at(state, index, resp, script_resp, depth)
    return None

cdef inline object table_at(lua_State *state, int index, int resp, int script_resp, int depth):
    """`reply_at` of a list or of {ok=...}."""
    cdef int count = 0
    cdef size_t size
    cdef const char *key
    cdef list pieces = [b""]
    pushnil(state)
    while lua_next(state, index):
        if type_of(state, -2) == NUMBER:
            count += 1
            if tonumber(state, -2) != count or count > MOST_ITEMS:
                return None
            piece = reply_at(state, gettop(state), resp, script_resp, depth + 1)
            if piece is None:
                return None
            pieces.append(piece)
            settop(state, -2)
        elif count or type_of(state, -2) != STRING or type_of(state, -1) != STRING:
            return None
        else:
            key = tolstring(state, -2, &size)
            if size != 2 or memcmp(key, b"ok", 2):
                return None
            piece = status_at(state, -1)
            settop(state, -2)
            return None if lua_next(state, index) else piece
    pieces[0] = b"*" + decimal(count) + b"\r\n"
    return pieces if not depth and rillway_text >= LONG_TEXT_BYTES else b"".join(pieces)


# -- to Lua ----------------------------------------------------------------------------------------

cdef inline const char *number_after(const char *at, long *number) noexcept:
    """Read the number of a line; where the next line begins."""
    cdef bint is_negative = at[0] == 45
    cdef unsigned long long size = 0
    if is_negative:
        at += 1
    while at[0] != 13:
        size = 10 * size + (at[0] - 48)
        at += 1
    number[0] = <long> (0ULL - size if is_negative else size)
    return at + 2

cdef inline const char *push_value(
    lua_State *state, const char *at, const char *end, int depth
) noexcept:
    """Push the value of a reply of RESP2; where the next one begins, or NULL if it is another."""
    cdef int kind = at[0], index
    cdef long number
    cdef const char *stop
    if kind == 58:  # :
        at = number_after(at + 1, &number)
        pushnumber(state, <double> number)
        return at
    if kind == 36:  # $
        at = number_after(at + 1, &number)
        if number < 0:
            pushboolean(state, 0)
            return at
        pushlstring(state, at, <size_t> number)
        return at + number + 2
    if kind == 43:  # +
        stop = <const char *> memchr(at, 13, end - at)
        createtable(state, 0, 1)
        pushlstring(state, at + 1, stop - at - 1)
        setfield(state, -2, b"ok")
        return stop + 2
    if kind != 42 or depth == DEPTH:  # *
        return NULL
    at = number_after(at + 1, &number)
    if number < 0:
        pushboolean(state, 0)
        return at
    createtable(state, <int> number, 0)
    for index in range(1, <int> number + 1):
        at = push_value(state, at, end, depth + 1)
        if at == NULL:
            return NULL
        rawseti(state, -2, index)
    return at

cdef inline bint push_reply(lua_State *state, bytes reply, bint has_room):
    """Push the value of a command's reply; or the reply, and return False."""
    cdef int top = gettop(state)
    cdef const char *text = PyBytes_AS_STRING(reply)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(reply)
    if has_room and push_value(state, text, text + size, 0) != NULL:
        return True
    settop(state, top)
    pushlstring(state, text, size)
    return False

cdef inline void push_texts(lua_State *state, list texts):
    """Push a table of strings."""
    cdef int place = 0
    cdef bytes text
    createtable(state, <int> len(texts), 0)
    for text in texts:
        place += 1
        pushlstring(state, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        rawseti(state, -2, place)

cdef inline object run_function(
    lua_State *state, int run, int functions, int number, int resp, list keys, list rest
):
    """Run a function by one of lua/runner.lua: its results, or the text of an error of Lua."""
    cdef int base = gettop(state)
    checkstack(state, 20)
    rawgeti(state, REGISTRY, run)
    rawgeti(state, REGISTRY, functions)
    rawgeti(state, -1, number)
    remove(state, -2)
    pushnumber(state, resp)
    push_texts(state, keys)
    push_texts(state, rest)
    cdef int status = pcall(state, 4, -1, 0)
    result = results_after(state, base, status)
    settop(state, base)
    return result

cdef inline object results_after(lua_State *state, int base, int status):
    """What a function has returned: one value, or several as a tuple."""
    cdef int count = gettop(state) - base
    if status:
        return (None, text_at(state, -1) if type_of(state, -1) == STRING else b"?")
    if count == 1:
        return result_at(state, base + 1)
    return tuple([result_at(state, base + index) for index in range(1, count + 1)])

cdef inline object result_at(lua_State *state, int index):
    """A string or a boolean; None for any other value."""
    cdef int kind = type_of(state, index)
    if kind == STRING:
        return text_at(state, index)
    return toboolean(state, index) if kind == BOOLEAN else None
