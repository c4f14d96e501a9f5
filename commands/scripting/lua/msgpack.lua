-- The `cmsgpack` library.
--
-- Source: the MessagePack specification; lua-cmsgpack 0.4 as Redis 7.0 answers.

local host, native = ...

local byte, char, sub = string.byte, string.char, string.sub
local concat, floor, tonumber, tostring, type, error = table.concat, math.floor, tonumber, tostring,
  type, error
local next, select, rawget, pcall, unpack = next, select, rawget, pcall, unpack

local MAX_NESTING = 16
local MAX_DECODE_NESTING = 190
local TWO_32, TWO_63, TWO_64 = 2 ^ 32, 2 ^ 63, 2 ^ 64

-- -- packing --------------------------------------------------------------------------------------

local function pack_float(layout, value)
  return host.pack_float(layout, value) or error('not enough memory', 0)
end

-- The low `size` bytes of a whole number, the highest first. Halves of 32 bits are exact.
local function bytes_of(value, size)
  local bytes = {}
  local low = value % TWO_32
  local high = ((value - low) / TWO_32) % TWO_32
  for index = size, 1, -1 do
    local part = low % 256
    bytes[index] = part
    low = (low - part) / 256
    if size - index == 3 then low = high end
  end
  return char(unpack(bytes, 1, size))
end

local function pack_number(value)
  if value ~= value or value < -TWO_63 or value >= TWO_63 or floor(value) ~= value then
    local short = host.unpack_float('>f', pack_float('>f', value))
    if short == value then return '\202' .. pack_float('>f', value) end
    return '\203' .. pack_float('>d', value)
  end
  if value >= 0 then
    if value < 128 then return char(value) end
    if value < 256 then return '\204' .. bytes_of(value, 1) end
    if value < 65536 then return '\205' .. bytes_of(value, 2) end
    if value < TWO_32 then return '\206' .. bytes_of(value, 4) end
    return '\207' .. bytes_of(value, 8)
  end
  if value >= -32 then return char(256 + value) end
  if value >= -128 then return '\208' .. bytes_of(value, 1) end
  if value >= -32768 then return '\209' .. bytes_of(value, 2) end
  if value >= -TWO_32 / 2 then return '\210' .. bytes_of(value, 4) end
  return '\211' .. bytes_of(value, 8)
end

local function string_header(length)
  if length < 32 then return char(160 + length) end
  if length < 256 then return '\217' .. bytes_of(length, 1) end
  if length < 65536 then return '\218' .. bytes_of(length, 2) end
  return '\219' .. bytes_of(length, 4)
end

local function container_header(length, small, medium, large)
  if length < 16 then return char(small + length) end
  if length < 65536 then return medium .. bytes_of(length, 2) end
  return large .. bytes_of(length, 4)
end

-- The length of a table as an array; nil and the number of pairs if it is not an array.
local function array_length(value)
  local most, items, is_array = 0, 0, true
  for key in next, value do
    items = items + 1
    if type(key) ~= 'number' or key <= 0 or floor(key) ~= key then
      is_array = false
    elseif key > most then
      most = key
    end
  end
  if is_array and most == items then return items end
  return nil, items
end

local pack_value

local function pack_table(value, depth, put)
  local length, pairs_count = array_length(value)
  if length then
    put(container_header(length, 144, '\220', '\221'))
    for index = 1, length do pack_value(rawget(value, index), depth + 1, put) end
  else
    put(container_header(pairs_count, 128, '\222', '\223'))
    for key, item in next, value do
      pack_value(key, depth + 1, put)
      pack_value(item, depth + 1, put)
    end
  end
end

function pack_value(value, depth, put)
  local kind = type(value)
  if kind == 'table' and depth == MAX_NESTING then kind = 'nil' end
  if kind == 'string' then
    put(string_header(#value) .. value)
  elseif kind == 'number' then
    put(pack_number(value))
  elseif kind == 'boolean' then
    put(value and '\195' or '\194')
  elseif kind == 'table' then
    pack_table(value, depth, put)
  else
    put('\192')
  end
end

local library = {
  _NAME = 'cmsgpack', _VERSION = 'lua-cmsgpack 0.4.0',
  _COPYRIGHT = 'Copyright (C) 2012, Salvatore Sanfilippo',
  _DESCRIPTION = 'MessagePack C implementation for Lua',
}

function library.pack(...)
  local count = select('#', ...)
  if count == 0 then
    error("bad argument #0 to 'pack' (MessagePack pack needs input.)", 2)
  end
  local pieces, size = {}, 0
  local function put(piece)
    size = size + 1
    pieces[size] = piece
  end
  for index = 1, count do pack_value((select(index, ...)), 0, put) end
  return concat(pieces)
end

-- -- unpacking ------------------------------------------------------------------------------------

local data, at

local function missing() error('Missing bytes in input.', 0) end

local function take(length)
  if at + length - 1 > #data then missing() end
  local piece = sub(data, at, at + length - 1)
  at = at + length
  return piece
end

local function unsigned(size)
  if at + size - 1 > #data then missing() end
  local high, low = 0, 0
  for index = size, 1, -1 do
    local part = byte(data, at)
    if index > 4 then high = high * 256 + part else low = low * 256 + part end
    at = at + 1
  end
  return high * TWO_32 + low
end

local function signed(size)
  local is_negative = (byte(data, at) or 0) >= 128
  if size < 8 then
    local value = unsigned(size)
    return is_negative and value - 256 ^ size or value
  end
  local high = unsigned(4)
  if is_negative then high = high - TWO_32 end
  return high * TWO_32 + unsigned(4)
end

local read

local function read_array(length, depth)
  local result = {}
  for index = 1, length do result[index] = read(depth) end
  return result
end

local function read_map(length, depth)
  local result = {}
  for _ = 1, length do
    local key = read(depth)
    local value = read(depth)
    if key == nil then error('table index is nil', 0) end
    if key ~= key then error('table index is NaN', 0) end
    result[key] = value
  end
  return result
end

local READERS = {
  [192] = function() return nil end,
  [194] = function() return false end,
  [195] = function() return true end,
  [196] = function() return take(unsigned(1)) end,
  [197] = function() return take(unsigned(2)) end,
  [198] = function() return take(unsigned(4)) end,
  [202] = function() return host.unpack_float('>f', take(4)) end,
  [203] = function() return host.unpack_float('>d', take(8)) end,
  [204] = function() return unsigned(1) end,
  [205] = function() return unsigned(2) end,
  [206] = function() return unsigned(4) end,
  [207] = function() return signed(8) end,  -- as in Redis: from 2^63 on it is negative
  [208] = function() return signed(1) end,
  [209] = function() return signed(2) end,
  [210] = function() return signed(4) end,
  [211] = function() return signed(8) end,
  [217] = function() return take(unsigned(1)) end,
  [218] = function() return take(unsigned(2)) end,
  [219] = function() return take(unsigned(4)) end,
  [220] = function(depth) return read_array(unsigned(2), depth) end,
  [221] = function(depth) return read_array(unsigned(4), depth) end,
  [222] = function(depth) return read_map(unsigned(2), depth) end,
  [223] = function(depth) return read_map(unsigned(4), depth) end,
}

function read(depth)
  local code = byte(data, at)
  if not code then missing() end
  if depth > MAX_DECODE_NESTING then error('Bad data format in input.', 0) end
  at = at + 1
  if code < 128 then return code end
  if code >= 224 then return code - 256 end
  if code < 144 then return read_map(code - 128, depth + 1) end
  if code < 160 then return read_array(code - 144, depth + 1) end
  if code < 192 then return take(code - 160) end
  local reader = READERS[code]
  if not reader then error('Bad data format in input.', 0) end
  return reader(depth + 1)
end

-- Up to `limit` values from `offset` on (0: all); preceded by the offset after them if it is
-- wanted: -1 if nothing is left.
local function unpack_some(source, limit, offset, is_counted)
  data, at = source, offset + 1
  local values, count = {}, 0
  while at <= #data and (limit == 0 or count < limit) do
    if count >= 7000 then error('too many values to unpack', 0) end
    count = count + 1
    values[count] = read(0)
  end
  local reached = at > #data and -1 or at - 1
  data = nil
  if is_counted then return reached, unpack(values, 1, count) end
  return unpack(values, 1, count)
end

-- The crossing's function is called by the script, and calls the one here if a value is unusual.
local quick_unpack = native.quick_unpack or function(f) return f end

local function check_source(name, level, ...)
  local source = ...
  if type(source) == 'number' then source = tostring(source) end
  if type(source) ~= 'string' then
    local kind = select('#', ...) == 0 and 'no value' or type(source)
    error("bad argument #1 to '" .. name .. "' (string expected, got " .. kind .. ')', level)
  end
  return source
end

local function check_limits(limit, offset, source)
  if offset < 0 or limit < 0 then
    error('Invalid request to unpack with offset of ' .. offset .. ' and limit of ' .. #source
      .. '.', 0)
  elseif offset > #source then
    error('Start offset ' .. offset .. ' greater than input length ' .. #source .. '.', 0)
  end
end

local function finish(ok, ...)
  if ok then return ... end
  data = nil
  local problem = ...
  error(problem, 0)
end

library.unpack = quick_unpack(function(...)
  local source = check_source('unpack', native.quick_unpack and 4 or 3, ...)
  return finish(pcall(unpack_some, source, 0, 0, false))
end)

function library.unpack_one(...)
  local source = check_source('unpack_one', 3, ...)
  local offset = floor(tonumber((select(2, ...))) or 0)
  check_limits(1, offset, source)
  return finish(pcall(unpack_some, source, 1, offset, true))
end

function library.unpack_limit(...)
  local source = check_source('unpack_limit', 3, ...)
  local limit = tonumber((select(2, ...)))
  if not limit then
    local kind = select('#', ...) < 2 and 'no value' or type((select(2, ...)))
    error("bad argument #2 to 'unpack_limit' (number expected, got " .. kind .. ')', 2)
  end
  local offset = floor(tonumber((select(3, ...))) or 0)
  check_limits(floor(limit), offset, source)
  return finish(pcall(unpack_some, source, floor(limit), offset, true))
end

native.add_library('cmsgpack', library)
