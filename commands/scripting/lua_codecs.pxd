# cmsgpack.unpack, cjson.encode and cjson.decode of usual values, as functions of C that Lua calls.
#
# Each is a closure of the same function in Lua (lua/msgpack.lua, lua/json.lua), which does all that
# is unusual: errors, deep nesting, long texts (which must be stoppable), other settings. What both
# do has the same result, down to the order in which a table's pairs are stored.
#
# No function here holds an object of Python, so errors of Lua (no memory) may pass through.

from libc.math cimport signbit
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memchr, memcmp, memcpy, strncmp

from commands.scripting.lua_stack cimport (
    BOOLEAN,
    MOST_ITEMS,
    NIL,
    NUMBER,
    STRING,
    TABLE,
    USERDATA,
    add_maker,
    call_fallback,
    checkstack,
    createtable,
    gettop,
    lua_State,
    lua_next,
    pushboolean,
    pushlstring,
    pushnil,
    pushnumber,
    pushvalue,
    rawequal,
    rawgeti,
    rawset,
    rawseti,
    rillway_function,
    settop,
    toboolean,
    tolstring,
    tonumber,
    type_of,
    upvalue,
)
from protocol.replies cimport put_digits

cdef enum:
    # The longest text that is read or made here.
    CODED_BYTES = 32768
    NESTED = 16
    # Upvalues of the closures, after the function in Lua.
    SETTINGS = 2
    NULL_VALUE = 3
    # The most bytes of a number, or of an escaped character.
    PIECE_BYTES = 32

cdef extern from *:
    """
    static char rillway_coded[32768];
    /* Characters that have a short escape in JSON, and its letter. */
    static const char ESCAPED[] = "\\"\\\\/\\b\\f\\n\\r\\t", LETTERS[] = "\\"\\\\/bfnrt";
    """
    char rillway_coded[CODED_BYTES]
    const char *ESCAPED
    const char *LETTERS

cdef inline bint is_short(lua_State *state) noexcept:
    """Whether a function has one argument, a text that may be read here; and room for its value."""
    cdef size_t size
    if gettop(state) != 1 or type_of(state, 1) != STRING:
        return False
    tolstring(state, 1, &size)
    return size <= CODED_BYTES and checkstack(state, 3 * NESTED)


# -- MessagePack -----------------------------------------------------------------------------------

cdef inline int unpack_values(lua_State *state) noexcept:
    """cmsgpack.unpack."""
    cdef size_t size
    cdef const char *at
    cdef const char *end
    cdef int count = 0
    if is_short(state):
        at = tolstring(state, 1, &size)
        end = at + size
        while at != NULL and at < end:
            at = push_packed(state, at, end, 0)
            count += 1
            if count > NESTED:
                at = NULL
        if at != NULL:
            return count
        settop(state, 1)
    return call_fallback(state)

cdef inline unsigned long long big_endian(const char *at, int width) noexcept:
    """A number of some bytes, the highest first."""
    cdef unsigned long long number = 0
    cdef int index
    for index in range(width):
        number = number << 8 | <unsigned char> at[index]
    return number

cdef inline double packed_number(const char *at, int code) noexcept:
    """The number of a fixed width that a code begins."""
    cdef unsigned long long bits
    cdef unsigned int half
    cdef double value
    cdef float single
    if code == 202:
        half = <unsigned int> big_endian(at, 4)
        memcpy(&single, &half, 4)
        return single
    cdef int width = 8 if code == 203 else 1 << (code & 3)
    bits = big_endian(at, width)
    if code == 203:
        memcpy(&value, &bits, 8)
        return value
    if code < 207:
        return <double> bits
    cdef int unused = 64 - 8 * width
    return <double> (<long long> (bits << unused) >> unused)

cdef inline const char *push_packed(
    lua_State *state, const char *at, const char *end, int depth
) noexcept:
    """Push the next value; the place after it, or NULL if it is unusual."""
    cdef int code = <unsigned char> at[0], width
    at += 1
    if code < 128 or code >= 224:
        pushnumber(state, code if code < 128 else code - 256)
        return at
    if code < 144:
        return push_packed_map(state, at, end, code - 128, depth)
    if code < 160:
        return push_packed_array(state, at, end, code - 144, depth)
    if code < 192:
        return push_packed_text(state, at, end, code - 160)
    if code == 192:
        pushnil(state)
        return at
    if code == 194 or code == 195:
        pushboolean(state, code - 194)
        return at
    if 202 <= code <= 211:
        width = 4 << (code - 202) if code < 204 else 1 << (code & 3)
        if end - at < width:
            return NULL
        pushnumber(state, packed_number(at, code))
        return at + width
    # The codes of lengths of one, two and four bytes follow each other.
    if 196 <= code <= 198:
        width = 1 << (code - 196)
    elif 217 <= code <= 219:
        width = 1 << (code - 217)
    elif code >= 220:
        width = 2 << (code & 1)
    else:
        return NULL
    if end - at < width:
        return NULL
    cdef unsigned long long length = big_endian(at, width)
    at += width
    if code < 220:
        return push_packed_text(state, at, end, length)
    if code < 222:
        return push_packed_array(state, at, end, length, depth)
    return push_packed_map(state, at, end, length, depth)

cdef inline const char *push_packed_text(
    lua_State *state, const char *at, const char *end, unsigned long long length
) noexcept:
    if <unsigned long long> (end - at) < length:
        return NULL
    pushlstring(state, at, <size_t> length)
    return at + length

cdef inline const char *push_packed_array(
    lua_State *state, const char *at, const char *end, unsigned long long length, int depth
) noexcept:
    cdef int index = 0
    if depth == NESTED:
        return NULL
    createtable(state, 0, 0)  # which grows as in Redis: `#` of one with nil depends on that
    while <unsigned long long> index < length:
        if at == end:
            return NULL
        at = push_packed(state, at, end, depth + 1)
        if at == NULL:
            return NULL
        index += 1
        rawseti(state, -2, index)
    return at

cdef inline const char *push_packed_map(
    lua_State *state, const char *at, const char *end, unsigned long long length, int depth
) noexcept:
    if depth == NESTED:
        return NULL
    createtable(state, 0, 0)
    while length:
        length -= 1
        if at == end:
            return NULL
        at = push_packed(state, at, end, depth + 1)
        if at == NULL or at == end or not is_key(state):
            return NULL
        at = push_packed(state, at, end, depth + 1)
        if at == NULL:
            return NULL
        rawset(state, -3)
    return at

cdef inline bint is_key(lua_State *state) noexcept:
    """Whether the last value is neither nil nor NaN."""
    cdef int kind = type_of(state, -1)
    return kind != NIL and (kind != NUMBER or tonumber(state, -1) == tonumber(state, -1))


# -- from JSON -------------------------------------------------------------------------------------

cdef inline bint has_changed_settings(lua_State *state) noexcept:
    rawgeti(state, upvalue(SETTINGS), 1)
    cdef bint has_changed = toboolean(state, -1)
    settop(state, -2)
    return has_changed

cdef inline int decode_json(lua_State *state) noexcept:
    """cjson.decode."""
    cdef size_t size
    cdef const char *text
    cdef const char *at
    if is_short(state) and not has_changed_settings(state):
        text = tolstring(state, 1, &size)
        at = push_json(state, text, 0)
        if at != NULL and after_space(at) == text + size:
            return 1
        settop(state, 1)
    return call_fallback(state)

cdef inline const char *after_space(const char *at) noexcept:
    while at[0] == 32 or at[0] == 9 or at[0] == 10 or at[0] == 13:
        at += 1
    return at

cdef inline const char *push_json(lua_State *state, const char *at, int depth) noexcept:
    """Push the next value; the place after it, or NULL if it is unusual. A zero ends the text."""
    at = after_space(at)
    cdef int first = at[0]
    if first == 34:  # "
        return push_json_text(state, at + 1)
    if first == 123 and depth < NESTED:  # {
        return push_json_object(state, after_space(at + 1), depth)
    if first == 91 and depth < NESTED:  # [
        return push_json_array(state, after_space(at + 1), depth)
    if first == 45 or 48 <= first <= 57:  # -
        return push_json_number(state, at)
    if first == 116 and strncmp(at, b"true", 4) == 0:
        pushboolean(state, 1)
        return at + 4
    if first == 102 and strncmp(at, b"false", 5) == 0:
        pushboolean(state, 0)
        return at + 5
    if first == 110 and strncmp(at, b"null", 4) == 0:
        pushvalue(state, upvalue(NULL_VALUE))
        return at + 4
    return NULL

cdef inline const char *push_json_object(lua_State *state, const char *at, int depth) noexcept:
    createtable(state, 0, 0)
    if at[0] == 125:  # }
        return at + 1
    while at[0] == 34:
        at = push_json_text(state, at + 1)
        if at == NULL:
            return NULL
        at = after_space(at)
        if at[0] != 58:  # :
            return NULL
        at = push_json(state, at + 1, depth + 1)
        if at == NULL:
            return NULL
        rawset(state, -3)
        at = after_space(at)
        if at[0] == 125:
            return at + 1
        if at[0] != 44:  # ,
            return NULL
        at = after_space(at + 1)
    return NULL

cdef inline const char *push_json_array(lua_State *state, const char *at, int depth) noexcept:
    cdef int index = 0
    createtable(state, 0, 0)
    if at[0] == 93:  # ]
        return at + 1
    while True:
        at = push_json(state, at, depth + 1)
        if at == NULL:
            return NULL
        index += 1
        rawseti(state, -2, index)
        at = after_space(at)
        if at[0] == 93:
            return at + 1
        if at[0] != 44:
            return NULL
        at += 1

cdef inline const char *after_digits(const char *at) noexcept:
    while 48 <= at[0] <= 57:
        at += 1
    return at

cdef inline const char *push_json_number(lua_State *state, const char *start) noexcept:
    cdef const char *at = start + (start[0] == 45)
    cdef const char *digits = at
    cdef const char *end = after_digits(at)
    cdef long value = 0
    if end == at or (at[0] == 48 and end - at > 1):
        return NULL
    if end - at <= 15 and start == at and end[0] != 46 and end[0] != 69 and end[0] != 101:
        while at != end:
            value = 10 * value + (at[0] - 48)
            at += 1
        pushnumber(state, <double> value)
        return end
    if end[0] == 46:  # .
        digits = end + 1
        end = after_digits(digits)
        if end == digits:
            return NULL
    if end[0] == 69 or end[0] == 101:  # E, e
        digits = end + 1
        if digits[0] == 43 or digits[0] == 45:
            digits += 1
        end = after_digits(digits)
        if end == digits:
            return NULL
    pushnumber(state, strtod(start, NULL))
    return end

cdef inline const char *push_json_text(lua_State *state, const char *start) noexcept:
    """Push the text that begins after its quote."""
    cdef const char *at = start
    cdef char *out = rillway_coded
    while at[0] != 34 and at[0] != 92:  # quote, backslash
        if at[0] == 0:
            return NULL
        at += 1
    if at[0] == 34:
        pushlstring(state, start, at - start)
        return at + 1
    memcpy(out, start, at - start)
    out += at - start
    while at[0] != 34:
        if at[0] == 0:
            return NULL
        if at[0] != 92:
            out[0] = at[0]
            out += 1
            at += 1
            continue
        at = unescape(at + 1, &out)
        if at == NULL:
            return NULL
    pushlstring(state, rillway_coded, out - rillway_coded)
    return at + 1

cdef inline const char *unescape(const char *at, char **out) noexcept:
    """Write the character whose escape has this letter; the place after it."""
    cdef const char *found
    cdef int code = 0, index, digit
    if at[0] == 0:
        return NULL
    found = <const char *> memchr(LETTERS, at[0], 8)
    if found != NULL:
        out[0][0] = ESCAPED[found - LETTERS]
        out[0] += 1
        return at + 1
    if at[0] != 117:  # u
        return NULL
    for index in range(1, 5):
        digit = at[index] | 32
        if 48 <= at[index] <= 57:
            digit = at[index] - 48
        elif 97 <= digit <= 102:
            digit -= 87
        else:
            return NULL
        code = code << 4 | digit
    if 0xD800 <= code <= 0xDFFF:
        return NULL
    if code < 0x80:
        out[0][0] = <char> code
        out[0] += 1
        return at + 5
    if code >= 0x800:
        out[0][0] = <char> (0xE0 | code >> 12)
        out[0][1] = <char> (0x80 | code >> 6 & 0x3F)
        out[0] += 2
    else:
        out[0][0] = <char> (0xC0 | code >> 6)
        out[0] += 1
    out[0][0] = <char> (0x80 | code & 0x3F)
    out[0] += 1
    return at + 5


# -- to JSON ---------------------------------------------------------------------------------------

cdef inline int encode_json(lua_State *state) noexcept:
    """cjson.encode."""
    cdef char *out = NULL
    if gettop(state) == 1 and not has_changed_settings(state) and checkstack(state, 3 * NESTED):
        out = put_json(state, 1, rillway_coded, 0)
        if out != NULL:
            pushlstring(state, rillway_coded, out - rillway_coded)
            return 1
        settop(state, 1)
    return call_fallback(state)

cdef inline char *put_word(char *out, const char *word, Py_ssize_t size) noexcept:
    memcpy(out, word, size)
    return out + size

cdef inline char *put_json(lua_State *state, int index, char *out, int depth) noexcept:
    """Write a value; the place after it, or NULL if it is unusual, or long."""
    cdef int kind = type_of(state, index)
    if rillway_coded + CODED_BYTES - out < 2 * PIECE_BYTES:
        return NULL
    if kind == STRING:
        return put_json_text(state, index, out)
    if kind == NUMBER:
        return put_json_number(tonumber(state, index), out)
    if kind == BOOLEAN:
        return put_word(out, b"true", 4) if toboolean(state, index) else put_word(out, b"false", 5)
    if kind == NIL or (kind == USERDATA and rawequal(state, index, upvalue(NULL_VALUE))):
        return put_word(out, b"null", 4)
    if kind != TABLE or depth == NESTED:
        return NULL
    cdef int length = array_length(state, index)
    if length < 0:
        return NULL
    if length:
        return put_json_array(state, index, out, length, depth)
    return put_json_object(state, index, out, depth)

cdef inline char *put_json_number(double number, char *out) noexcept:
    cdef char line[24]
    cdef char *start
    if -1e14 < number < 1e14 and number == <double> <long> number and (number or not signbit(number)):
        start = put_digits(line + 24, <long> number)
        return put_word(out, start, line + 24 - start)
    if number - number != 0:
        return NULL  # infinity, NaN
    return out + snprintf(out, PIECE_BYTES, b"%.14g", number)

cdef inline char *put_json_text(lua_State *state, int index, char *out) noexcept:
    cdef size_t size, at
    cdef const char *text = tolstring(state, index, &size)
    cdef char *stop = rillway_coded + CODED_BYTES - PIECE_BYTES
    cdef const char *found
    cdef int byte
    if size > CODED_BYTES:
        return NULL
    out[0] = 34
    out += 1
    for at in range(size):
        if out >= stop:
            return NULL
        byte = <unsigned char> text[at]
        if byte >= 32 and byte != 34 and byte != 92 and byte != 47 and byte != 127:
            out[0] = <char> byte
            out += 1
            continue
        found = NULL
        if byte:
            found = <const char *> memchr(ESCAPED, byte, 8)
        if found != NULL:
            out[0] = 92
            out[1] = LETTERS[found - ESCAPED]
            out += 2
        else:
            out += snprintf(out, PIECE_BYTES, b"\\u%04x", byte)
    out[0] = 34
    return out + 1

cdef inline int array_length(lua_State *state, int index) noexcept:
    """The length of the array that a table is; 0 if it is none, -1 if that is unusual."""
    cdef int items = 0
    cdef double key, most = 0
    pushnil(state)
    while lua_next(state, index):
        settop(state, -2)
        if type_of(state, -1) != NUMBER:
            settop(state, -2)
            return 0
        key = tonumber(state, -1)
        if not 1 <= key <= 2 * MOST_ITEMS or key != <double> <int> key:
            # A larger key may make the array too sparse, which is an error.
            settop(state, -2)
            return -1
        most = max(most, key)
        items += 1
    if most > 10 and most > 2 * items:
        return -1
    return <int> most

cdef inline char *put_json_array(
    lua_State *state, int index, char *out, int length, int depth
) noexcept:
    cdef int place
    cdef int item = gettop(state) + 1
    out[0] = 91  # [
    for place in range(1, length + 1):
        rawgeti(state, index, place)
        out = put_json(state, item, out + 1, depth + 1)
        if out == NULL:
            return NULL
        settop(state, -2)
        out[0] = 44  # ,
    out[0] = 93  # ]
    return out + 1

cdef inline char *put_json_object(lua_State *state, int index, char *out, int depth) noexcept:
    cdef int key = gettop(state) + 1
    cdef char *start = out
    out[0] = 123  # {
    out += 1
    pushnil(state)
    while lua_next(state, index):
        if out != start + 1:
            out[0] = 44  # ,
            out += 1
        if rillway_coded + CODED_BYTES - out < 2 * PIECE_BYTES:
            return NULL
        if type_of(state, key) == STRING:
            out = put_json_text(state, key, out)
        elif type_of(state, key) == NUMBER:
            out[0] = 34
            out = put_json_number(tonumber(state, key), out + 1)
            if out != NULL:
                out[0] = 34
                out += 1
        else:
            return NULL
        if out == NULL:
            return NULL
        out[0] = 58  # :
        out = put_json(state, key + 1, out + 1, depth + 1)
        if out == NULL:
            return NULL
        settop(state, key)
    out[0] = 125  # }
    return out + 1


# -- for the interpreter ---------------------------------------------------------------------------

cdef inline void add_codecs(lua_State *state, int native):
    """Add functions to the table `native` that make a closure of a function in Lua."""
    add_maker(state, native, b"quick_unpack", <rillway_function> unpack_values)
    add_maker(state, native, b"quick_encode", <rillway_function> encode_json)
    add_maker(state, native, b"quick_decode", <rillway_function> decode_json)
