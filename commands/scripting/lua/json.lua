-- The `cjson` library.
--
-- Source: lua-cjson 2.1 as Redis 7.0 answers. Deliberately different: its settings last until the
-- script ends. A library that cjson.new() returns keeps its own.

local host, native = ...

local byte, char, sub, find, gsub, format = string.byte, string.char, string.sub, string.find,
  string.gsub, string.format
local concat, floor, tonumber, tostring, type, error = table.concat, math.floor, tonumber, tostring,
  type, error
local ipairs = ipairs
local next, select, rawget, huge, pcall = next, select, rawget, math.huge, pcall

-- The value of JSON's null. It has no content; only its name is shown.
local null = newproxy(true)
getmetatable(null).__tostring = function() return 'userdata: (nil)' end
native.null = null

-- The crossing's functions are called by the script, and call those here if a value is unusual.
local function same(f) return f end
local quick_encode, quick_decode = native.quick_encode or same, native.quick_decode or same
local CALLER = native.quick_encode and 3 or 2  -- the level of the script

-- The first setting is whether a script has changed others.
local DEFAULTS = {
  false,
  sparse_convert = false, sparse_ratio = 2, sparse_safe = 10,
  encode_depth = 1000, decode_depth = 1000, precision = 14,
  encode_invalid = false, decode_invalid = true, keep_buffer = true,
}

local function new_library(is_shared)
  local settings = {}

  local function set_defaults()
    for key, value in next, DEFAULTS do settings[key] = value end
  end
  set_defaults()

  local function change(key, value)
    if is_shared then native.at_end(set_defaults) end
    settings[1], settings[key] = true, value
  end

  -- -- encoding ----------------------------------------------------------------------------------

  local ESCAPES = {
    ['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\f'] = '\\f',
    ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t',
  }
  for code = 0, 127 do
    if (code < 32 or code == 127) and not ESCAPES[char(code)] then
      ESCAPES[char(code)] = format('\\u%04x', code)
    end
  end

  local pieces, count, number_format
  local put_value

  local function put(piece)
    count = count + 1
    pieces[count] = piece
  end

  -- A long text is escaped in parts, between which the hook can run.
  local PART = 100000

  local function put_string(text)
    if #text <= PART then return put('"' .. gsub(text, '[%c"\\/\127]', ESCAPES) .. '"') end
    put('"')
    for at = 1, #text, PART do
      put((gsub(sub(text, at, at + PART - 1), '[%c"\\/\127]', ESCAPES)))
    end
    put('"')
  end

  local function number_text(value)
    if value ~= value or value == huge or value == -huge then
      if settings.encode_invalid == 'null' then return 'null' end
      if not settings.encode_invalid then
        error('Cannot serialise number: must not be NaN or Inf', 0)
      end
      if value ~= value then return 'nan' end
      return value > 0 and 'inf' or '-inf'
    end
    return format(number_format, value)
  end

  -- The length of the array that a table represents; nil: it is an object.
  local function array_length(value)
    local most, items = 0, 0
    for key in next, value do
      if type(key) ~= 'number' or key < 1 or floor(key) ~= key then return nil end
      if key > most then most = key end
      items = items + 1
    end
    if settings.sparse_ratio > 0 and most > items * settings.sparse_ratio
      and most > settings.sparse_safe then
      if not settings.sparse_convert then
        error('Cannot serialise table: excessively sparse array', 0)
      end
      return nil
    end
    return most > 0 and most or nil
  end

  local function put_array(value, length, depth)
    put('[')
    for index = 1, length do
      if index > 1 then put(',') end
      put_value(rawget(value, index), depth)
    end
    put(']')
  end

  local function put_object(value, depth)
    put('{')
    local is_first = true
    for key, item in next, value do
      if not is_first then put(',') end
      is_first = false
      local kind = type(key)
      if kind == 'string' then
        put_string(key)
      elseif kind == 'number' then
        put('"' .. number_text(key) .. '"')
      else
        error('Cannot serialise ' .. kind .. ': table key must be a number or string', 0)
      end
      put(':')
      put_value(item, depth)
    end
    put('}')
  end

  function put_value(value, depth)
    local kind = type(value)
    if kind == 'string' then
      put_string(value)
    elseif kind == 'number' then
      put(number_text(value))
    elseif kind == 'boolean' then
      put(value and 'true' or 'false')
    elseif kind == 'nil' or value == null then
      put('null')
    elseif kind == 'table' then
      depth = depth + 1
      if depth > settings.encode_depth then
        error('Cannot serialise, excessive nesting (' .. depth .. ')', 0)
      end
      local length = array_length(value)
      if length then put_array(value, length, depth) else put_object(value, depth) end
    else
      error('Cannot serialise ' .. kind .. ': type not supported', 0)
    end
  end

  local function encode(...)
    if select('#', ...) ~= 1 then
      error("bad argument #1 to 'encode' (expected 1 argument)", CALLER)
    end
    pieces, count, number_format = {}, 0, '%.' .. settings.precision .. 'g'
    local ok, problem = pcall(put_value, (...), 0)
    local text = ok and concat(pieces)
    pieces = nil
    if ok then return text end
    error(problem, CALLER)
  end

  -- -- decoding ----------------------------------------------------------------------------------

  local text, at  -- the input, and where the next token begins
  local token, token_value, token_at  -- the kind of the last token, its value and place

  local PLAIN = {
    ['{'] = 'T_OBJ_BEGIN', ['}'] = 'T_OBJ_END', ['['] = 'T_ARR_BEGIN', [']'] = 'T_ARR_END',
    [':'] = 'T_COLON', [','] = 'T_COMMA', [''] = 'T_END',
  }
  local UNESCAPES = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', b = '\b', f = '\f', n = '\n', r = '\r', t = '\t',
  }

  local function set(kind, value, stop)
    token, token_value, at = kind, value, stop
  end

  local function utf8(code)
    if code < 0x80 then return char(code) end
    if code < 0x800 then return char(0xC0 + floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
      return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
    end
    return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64,
      0x80 + floor(code / 64) % 64, 0x80 + code % 64)
  end

  local function hex4(position)
    local digits = sub(text, position, position + 3)
    if not find(digits, '^%x%x%x%x$') then return nil end
    return tonumber(digits, 16)
  end

  -- The character of a \u escape whose backslash is at `position`, and where it ends.
  local function unicode(position)
    local code = hex4(position + 2)
    if not code then return nil end
    if code >= 0xD800 and code <= 0xDFFF then
      if code >= 0xDC00 then return nil end
      if sub(text, position + 6, position + 7) ~= '\\u' then return nil end
      local low = hex4(position + 8)
      if not low or low < 0xDC00 or low > 0xDFFF then return nil end
      return utf8((code - 0xD800) * 1024 + (low - 0xDC00) + 0x10000), position + 12
    end
    return utf8(code), position + 6
  end

  local function read_string()
    local from = at + 1
    local stop = find(text, '["\\%z]', from)
    if stop and byte(text, stop) == 34 then
      return set('T_STRING', sub(text, from, stop - 1), stop + 1)
    end
    local parts = {}
    while true do
      if not stop or byte(text, stop) == 0 then
        token_at = stop or #text + 1
        return set('T_ERROR', 'unexpected end of string', at)
      end
      parts[#parts + 1] = sub(text, from, stop - 1)
      if byte(text, stop) == 34 then
        return set('T_STRING', concat(parts), stop + 1)
      end
      local letter = sub(text, stop + 1, stop + 1)
      local plain = UNESCAPES[letter]
      if plain then
        parts[#parts + 1], from = plain, stop + 2
      elseif letter == 'u' then
        local decoded, after = unicode(stop)
        if not decoded then
          token_at = stop
          return set('T_ERROR', 'invalid unicode escape code', at)
        end
        parts[#parts + 1], from = decoded, after
      else
        token_at = stop
        return set('T_ERROR', 'invalid escape code', at)
      end
      stop = find(text, '["\\%z]', from)
    end
  end

  local function read_number()
    local from, stop = find(text, '^[+-]?0[xX]%x+', at)
    if not from then
      -- Part by part: a pattern for all parts would try every number of digits for the first.
      from, stop = find(text, '^[+-]?%d+', at)
      if from then
        stop = select(2, find(text, '^%.?%d*', stop + 1))
        stop = select(2, find(text, '^[eE][+-]?%d+', stop + 1)) or stop
      end
    end
    if not from then from, stop = find(text, '^[+-]?%.%d+', at) end
    if from then return set('T_NUMBER', tonumber(sub(text, from, stop)), stop + 1) end
    local sign, word = sub(text, at):match('^([+-]?)(%a+)')
    word = word and word:lower() or ''
    for _, name in ipairs({'infinity', 'inf', 'nan'}) do
      if sub(word, 1, #name) == name then
        local value = name == 'nan' and 0 / 0 or huge
        return set('T_NUMBER', sign == '-' and -value or value, at + #sign + #name)
      end
    end
    return set('T_ERROR', 'invalid number', at)
  end

  -- Numbers that JSON does not have: hexadecimal, with a leading plus or zeros, inf, nan.
  local function is_odd_number()
    local _, after = find(text, '^%-', at)
    local position = after and after + 1 or at
    return find(text, '^0[xX%d]', position) or find(text, '^%+', at)
      or find(text, '^[iI][nN][fF]', position) or find(text, '^[nN][aA][nN]', position)
  end

  local function advance()
    at = find(text, '[^ \t\r\n]', at) or #text + 1
    token_at = at
    local first = sub(text, at, at)
    local plain = PLAIN[first]
    if plain then return set(plain, nil, at + 1) end
    if first == '"' then return read_string() end
    if find(first, '^[%d%-]') then
      if not settings.decode_invalid and is_odd_number() then
        return set('T_ERROR', 'invalid number', at)
      end
      return read_number()
    end
    if find(text, '^true', at) then return set('T_BOOLEAN', true, at + 4) end
    if find(text, '^false', at) then return set('T_BOOLEAN', false, at + 5) end
    if find(text, '^null', at) then return set('T_NULL', null, at + 4) end
    if settings.decode_invalid and is_odd_number() then return read_number() end
    return set('T_ERROR', 'invalid token', at)
  end

  local function refuse(expected)
    local found = token == 'T_ERROR' and token_value or token
    error(format('Expected %s but found %s at character %d', expected, found, token_at), 0)
  end

  local read_value

  local function deeper(depth)
    if depth > settings.decode_depth then
      error(format('Found too many nested data structures (%d) at character %d', depth, token_at),
        0)
    end
  end

  local function read_object(depth)
    deeper(depth)
    local object = {}
    advance()
    if token == 'T_OBJ_END' then return object end
    while true do
      if token ~= 'T_STRING' then refuse('object key string') end
      local key = token_value
      advance()
      if token ~= 'T_COLON' then refuse('colon') end
      advance()
      object[key] = read_value(depth)
      advance()
      if token == 'T_OBJ_END' then return object end
      if token ~= 'T_COMMA' then refuse('comma or object end') end
      advance()
    end
  end

  local function read_array(depth)
    deeper(depth)
    local array, index = {}, 0
    advance()
    if token == 'T_ARR_END' then return array end
    while true do
      index = index + 1
      array[index] = read_value(depth)
      advance()
      if token == 'T_ARR_END' then return array end
      if token ~= 'T_COMMA' then refuse('comma or array end') end
      advance()
    end
  end

  function read_value(depth)
    if token == 'T_OBJ_BEGIN' then return read_object(depth + 1) end
    if token == 'T_ARR_BEGIN' then return read_array(depth + 1) end
    if token == 'T_STRING' or token == 'T_NUMBER' or token == 'T_BOOLEAN' or token == 'T_NULL' then
      return token_value
    end
    refuse('value')
  end

  local function decode_text()
    advance()
    local value = read_value(0)
    advance()
    if token ~= 'T_END' then refuse('the end') end
    return value
  end

  local function decode(...)
    local source = ...
    if select('#', ...) ~= 1 then
      error("bad argument #1 to 'decode' (expected 1 argument)", CALLER)
    end
    if type(source) == 'number' then source = tostring(source) end
    if type(source) ~= 'string' then
      error("bad argument #1 to 'decode' (string expected, got " .. type(source) .. ')', CALLER)
    end
    if #source >= 2 and (byte(source, 1) == 0 or byte(source, 2) == 0) then
      error('JSON parser does not support UTF-16 or UTF-32', CALLER)
    end
    text, at = source, 1
    local ok, value = pcall(decode_text)
    text, token_value = nil, nil
    if ok then return value end
    error(value, CALLER)
  end

  -- -- settings ----------------------------------------------------------------------------------

  local function check_count(name, most, ...)
    local given = select('#', ...)
    if given > most then
      error(format("bad argument #%d to '%s' (found too many arguments)", most + 1, name), 3)
    end
  end

  local function set_boolean(name, index, key, value)
    if value == nil then return settings[key] end
    if type(value) == 'boolean' then
      change(key, value)
    else
      local text = tostring(value)
      if text ~= 'on' and text ~= 'off' then
        error(format("bad argument #%d to '%s' (invalid option '%s')", index, name, text), 3)
      end
      change(key, text == 'on')
    end
    return settings[key]
  end

  local function set_integer(name, index, key, low, high, value)
    if value == nil then return settings[key] end
    local number = tonumber(value)
    if not number then
      error(format("bad argument #%d to '%s' (number expected, got %s)", index, name, type(value)),
        3)
    end
    number = floor(number)
    if number < low or number > high then
      error(format("bad argument #%d to '%s' (expected integer between %d and %d)", index, name,
        low, high), 3)
    end
    change(key, number)
    return number
  end

  local MAX_INT = 2147483647
  local library = {
    encode = quick_encode(encode, settings, null), decode = quick_decode(decode, settings, null),
    null = null, _NAME = 'cjson', _VERSION = '2.1.0',
  }

  function library.encode_sparse_array(...)
    local name = 'encode_sparse_array'
    check_count(name, 3, ...)
    local convert, ratio, safe = ...
    return set_boolean(name, 1, 'sparse_convert', convert),
      set_integer(name, 2, 'sparse_ratio', 0, MAX_INT, ratio),
      set_integer(name, 3, 'sparse_safe', 0, MAX_INT, safe)
  end

  local function add_integer(name, key, low, high)
    library[name] = function(...)
      check_count(name, 1, ...)
      return set_integer(name, 1, key, low, high, (...))
    end
  end
  -- Lua's own stack allows less depth than a script may set.
  add_integer('encode_max_depth', 'encode_depth', 1, MAX_INT)
  add_integer('decode_max_depth', 'decode_depth', 1, MAX_INT)
  add_integer('encode_number_precision', 'precision', 1, 16)

  function library.encode_keep_buffer(...)
    check_count('encode_keep_buffer', 1, ...)
    return set_boolean('encode_keep_buffer', 1, 'keep_buffer', (...))
  end

  function library.encode_invalid_numbers(...)
    check_count('encode_invalid_numbers', 1, ...)
    local value = ...
    if value == 'null' then
      change('encode_invalid', 'null')
      return 'null'
    end
    return set_boolean('encode_invalid_numbers', 1, 'encode_invalid', value)
  end

  function library.decode_invalid_numbers(...)
    check_count('decode_invalid_numbers', 1, ...)
    return set_boolean('decode_invalid_numbers', 1, 'decode_invalid', (...))
  end

  function library.new() return new_library(false) end
  return library
end

native.add_library('cjson', new_library(true))
