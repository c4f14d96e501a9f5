-- The `struct` library: values as bytes in a given layout.
--
-- Source: the manual of Roberto Ierusalimschy's struct, and Redis 7.0.

local host, native = ...

local byte, char, sub, find, rep, format = string.byte, string.char, string.sub, string.find,
  string.rep, string.format
local concat, floor, select, tonumber, type, error = table.concat, math.floor, select, tonumber,
  type, error
local unpack, tostring = unpack, tostring

local MAX_ALIGNMENT, MAX_INTEGER_BYTES, MAX_INT = 8, 32, 2147483647
local VALUE_LIMIT = 7000
local TWO_32, TWO_63, TWO_64 = 2 ^ 32, 2 ^ 63, 2 ^ 64
local SIZES = {b = 1, B = 1, h = 2, H = 2, l = 8, L = 8, T = 8, f = 4, d = 8, x = 1}

local function pack_float(layout, value)
  return host.pack_float(layout, value) or error('not enough memory', 0)
end

local function bad(name, index, text, level)
  error(format("bad argument #%d to '%s' (%s)", index, name, text), level)
end

local function check_number(name, index, count, value, level)
  local result = tonumber(value)
  if result then return result end
  local kind = index > count and 'no value' or type(value)
  bad(name, index, 'number expected, got ' .. kind, level + 1)
end

local function check_string(name, index, count, value, level)
  if type(value) == 'string' then return value end
  if type(value) == 'number' then return tostring(value) end
  local kind = index > count and 'no value' or type(value)
  bad(name, index, 'string expected, got ' .. kind, level + 1)
end

-- The options of a layout, each with its size, alignment and byte order; checked when read.
local function options(name, layout, level)
  local at, is_little, alignment = 1, true, 1
  level = level + 1
  local function digits(default)
    local from, to = find(layout, '^%d+', at)
    if not from then return default end
    at = to + 1
    local value = tonumber(sub(layout, from, to))
    if value > MAX_INT then error('integral size overflow', level) end
    return value
  end
  return function()
    while at <= #layout do
      local option = sub(layout, at, at)
      at = at + 1
      local size = SIZES[option]
      if size then return option, size, size, is_little, alignment end
      if option == 'i' or option == 'I' then
        size = digits(4)
        if size > MAX_INTEGER_BYTES then
          error(format('integral size %d is larger than limit of %d', size, MAX_INTEGER_BYTES),
            level)
        end
        return option, size, size, is_little, alignment
      elseif option == 'c' then
        return option, digits(1), 1, is_little, alignment
      elseif option == 's' then
        return option, 0, 1, is_little, alignment
      elseif option == '>' then
        is_little = false
      elseif option == '<' then
        is_little = true
      elseif option == '!' then
        local wanted = digits(MAX_ALIGNMENT)
        local power = wanted
        while power > 1 and power % 2 == 0 do power = power / 2 end
        if wanted == 0 or power ~= 1 then
          error(format('alignment %d is not a power of 2', wanted), level)
        end
        alignment = wanted
      elseif option ~= ' ' then
        bad(name, 1, "invalid format option '" .. option .. "'", level + 1)
      end
    end
    return nil
  end
end

local function padding(total, option, size, alignment)
  if size == 0 or option == 'c' then return 0 end
  if alignment > size then alignment = size end
  if alignment <= 1 then return 0 end
  -- Only powers of two are alignments: others are masked as in C.
  local left = total % alignment
  return left == 0 and 0 or alignment - left
end

local function integer_bytes(value, size, is_little)
  if value ~= value or value < -TWO_63 then
    value = -TWO_63
  elseif value >= TWO_64 then
    value = 0
  end
  value = value < 0 and -floor(-value) or floor(value)
  -- Halves of 32 bits are exact, whatever the whole is.
  local low = value % TWO_32
  local high = ((value - low) / TWO_32) % TWO_32
  local bytes = {}
  for index = 1, size do
    local byte_value = low % 256
    bytes[index] = byte_value
    low = (low - byte_value) / 256
    if index == 4 then low = high end
  end
  -- Redis has the value in 64 bits: higher bytes are zero.
  for index = 9, size do bytes[index] = 0 end
  if not is_little then
    for index = 1, floor(size / 2) do
      bytes[index], bytes[size + 1 - index] = bytes[size + 1 - index], bytes[index]
    end
  end
  return char(unpack(bytes, 1, size))
end

local function read_integer(data, at, size, is_little, is_signed)
  local used = size > 8 and 8 or size
  local low, high = 0, 0
  for index = used, 1, -1 do
    local part = byte(data, is_little and at + index - 1 or at + size - index)
    if index == used and is_signed and part >= 128 then part = part - 256 end
    if index > 4 then high = high * 256 + part else low = low * 256 + part end
  end
  return high * TWO_32 + low
end

local library = {}

function library.pack(...)
  local count = select('#', ...)
  local layout = check_string('pack', 1, count, (...), 3)
  local pieces, total, index = {}, 0, 1
  local function put(piece)
    pieces[#pieces + 1], total = piece, total + #piece
  end
  for option, size, align, is_little, alignment in options('pack', layout, 2) do
    local gap = padding(total, option, align == 1 and size or align, alignment)
    if gap > 0 then put(rep('\0', gap)) end
    if option == 'x' then
      put('\0')
    else
      index = index + 1
      local value = select(index, ...)
      if option == 's' or option == 'c' then
        value = check_string('pack', index, index, value, 3)
        if option == 'c' then
          if size == 0 then size = #value end
          if #value < size then bad('pack', index + 1, 'string too short', 3) end
          put(sub(value, 1, size))
        else
          put(value)
          put('\0')
        end
      else
        value = check_number('pack', index, index, value, 3)
        if option == 'f' or option == 'd' then
          put(pack_float((is_little and '<' or '>') .. option, value))
        else
          put(integer_bytes(value, size, is_little))
        end
      end
    end
  end
  return concat(pieces)
end

function library.unpack(...)
  local count = select('#', ...)
  local layout = check_string('unpack', 1, count, (...), 3)
  local data = check_string('unpack', 2, count, (select(2, ...)), 3)
  local at = 1
  if select(3, ...) ~= nil then at = check_number('unpack', 3, count, (select(3, ...)), 3) end
  if at < 1 then bad('unpack', 3, 'offset must be 1 or greater', 3) end
  at = floor(at) - 1
  local values, found = {}, 0
  for option, size, align, is_little, alignment in options('unpack', layout, 2) do
    at = at + padding(at, option, align == 1 and size or align, alignment)
    if at + size > #data then bad('unpack', 2, 'data string too short', 3) end
    if found > VALUE_LIMIT then error('too many results', 2) end
    if option == 'c' then
      if size == 0 then
        local length = values[found]
        if found == 0 or type(length) ~= 'number' then
          error("format 'c0' needs a previous size", 2)
        end
        size, found = length, found - 1
        if size < 0 or at + size > #data then bad('unpack', 2, 'data string too short', 3) end
      end
      found = found + 1
      values[found] = sub(data, at + 1, at + size)
    elseif option == 's' then
      local stop = find(data, '\0', at + 1, true)
      if not stop then error('unfinished string in data', 2) end
      found = found + 1
      values[found] = sub(data, at + 1, stop - 1)
      size = stop - at
    elseif option == 'f' or option == 'd' then
      found = found + 1
      values[found] = host.unpack_float((is_little and '<' or '>') .. option,
        sub(data, at + 1, at + size))
    elseif option ~= 'x' then
      found = found + 1
      values[found] = read_integer(data, at + 1, size, is_little, find(option, '%l') ~= nil)
    end
    at = at + size
  end
  values[found + 1] = at + 1
  return unpack(values, 1, found + 1)
end

function library.size(...)
  local layout = check_string('size', 1, select('#', ...), (...), 3)
  local total = 0
  for option, size, align, _, alignment in options('size', layout, 2) do
    total = total + padding(total, option, align == 1 and size or align, alignment)
    if option == 's' then bad('size', 1, "variable-size format in option 's'", 3) end
    if option == 'c' and size == 0 then bad('size', 1, "variable-length format", 3) end
    total = total + size
    if total > MAX_INT then bad('size', 1, 'result too large', 3) end
  end
  return total
end

native.add_library('struct', library)
