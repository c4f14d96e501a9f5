-- Replies of commands as Lua values, and Lua values as replies: both sides are RESP.

local host, native = ...

local byte, find, sub, format = string.byte, string.find, string.sub, string.format
local concat, type, tonumber, rawget, next, error = table.concat, type, tonumber, rawget, next, error
local select, gsub, huge = select, string.gsub, math.huge

local INTEGER_LIMIT = 2 ^ 63
-- The depth in slots of C's stack at which Redis stops.
local SLOT_LIMIT = 7995

-- -- from a command -------------------------------------------------------------------------------

local wire, at = '', 1

local read

local function read_pairs(count)
  local result = {}
  for _ = 1, count do
    local key = read()
    local value = read()
    if key ~= nil then result[key] = value end
  end
  return result
end

-- A reader for each type, by its first byte; its argument is the rest of the first line.
local READERS = {
  [36] = function(line)  -- $
    local length = tonumber(line)
    if length < 0 then return false end
    local text = sub(wire, at, at + length - 1)
    at = at + length + 2
    return text
  end,
  [58] = tonumber,  -- :
  [43] = function(line) return {ok = line} end,  -- +
  [45] = function(line) return {err = line} end,  -- -
  [42] = function(line)  -- *
    local count = tonumber(line)
    if count < 0 then return false end
    local result = {}
    for index = 1, count do result[index] = read() end
    return result
  end,
  [95] = function() return nil end,  -- _
  [35] = function(line) return line == 't' end,  -- #
  [44] = function(line)  -- ,
    return {double = line == 'inf' and huge or line == '-inf' and -huge or tonumber(line)}
  end,
  [40] = function(line) return {big_number = line} end,  -- (
  [61] = function(line)  -- =
    local length = tonumber(line)
    local kind, text = sub(wire, at, at + 2), sub(wire, at + 4, at + length - 1)
    at = at + length + 2
    return {verbatim_string = {format = kind, string = text}}
  end,
  [37] = function(line) return {map = read_pairs(tonumber(line))} end,  -- %
  [126] = function(line)  -- ~
    local result = {}
    for _ = 1, tonumber(line) do
      local member = read()
      if member ~= nil then result[member] = true end
    end
    return {set = result}
  end,
}

function read()
  local stop = find(wire, '\r\n', at, true)
  local kind, line = byte(wire, at), sub(wire, at + 1, stop - 1)
  at = stop + 2
  return READERS[kind](line)
end

-- The value of a reply that is not an error, and begins with the byte `kind`.
function native.from_reply(kind, reply)
  if kind == 36 then
    if reply == '$-1\r\n' then return false end
    return sub(reply, find(reply, '\r\n', 2, true) + 2, -3)
  elseif kind == 58 then
    return tonumber(sub(reply, 2, -3))
  elseif reply == '+OK\r\n' then
    return {ok = 'OK'}
  end
  wire, at = reply, 1
  local value = read()
  wire = ''
  return value
end

-- Many arguments in one text: lupa is slow with many.
function native.pack_arguments(...)
  local pieces, count = {}, select('#', ...)
  for index = 1, count do
    local value = select(index, ...)
    local kind = type(value)
    if kind == 'string' then
      pieces[index] = '$' .. #value .. '\r\n' .. value .. '\r\n'
    elseif kind == 'number' then
      pieces[index] = format(',%.17g\r\n', value)
    else
      pieces[index] = '_\r\n'
    end
  end
  return '*' .. count .. '\r\n' .. concat(pieces)
end

-- -- to the client --------------------------------------------------------------------------------

local pieces, count, resp, script_resp = {}, 0, 2, 2

local function put(piece)
  count = count + 1
  pieces[count] = piece
end

local function put_null() put(resp == 3 and '_\r\n' or '$-1\r\n') end

local function put_bulk(text) put('$' .. #text .. '\r\n' .. text .. '\r\n') end

-- As a C string, up to its first zero byte, and in one line.
local function one_line(text) return (gsub(gsub(text, '%z.*$', ''), '[\r\n]', ' ')) end

local function integer(value)
  if value > -INTEGER_LIMIT and value < INTEGER_LIMIT then return format(':%d\r\n', value) end
  return ':-9223372036854775808\r\n'
end

local put_value

local function put_boolean(value)
  if script_resp < 3 and not value then
    put_null()
  elseif script_resp == 3 and resp == 3 then
    put(value and '#t\r\n' or '#f\r\n')
  else
    put(value and ':1\r\n' or ':0\r\n')
  end
end

local function put_verbatim(value)
  local kind, text = rawget(value, 'format'), rawget(value, 'string')
  if type(kind) ~= 'string' or type(text) ~= 'string' then return false end
  if resp == 3 then
    kind = sub(kind .. '   ', 1, 3)
    put('=' .. #text + 4 .. '\r\n' .. kind .. ':' .. text .. '\r\n')
  else
    put_bulk(text)
  end
  return true
end

local function put_map(value, slot)
  local size = 0
  for _ in next, value do size = size + 1 end
  put(resp == 3 and '%' .. size .. '\r\n' or '*' .. 2 * size .. '\r\n')
  for key, item in next, value do
    put_value(key, slot + 4)
    put_value(item, slot + 3)
  end
end

local function put_set(value, slot)
  local size = 0
  for _ in next, value do size = size + 1 end
  put((resp == 3 and '~' or '*') .. size .. '\r\n')
  for member in next, value do put_value(member, slot + 3) end
end

local function put_array(value, slot)
  local header = count + 1
  put('')
  local index = 0
  while true do
    local item = rawget(value, index + 1)
    if item == nil then break end
    index = index + 1
    put_value(item, slot + 1)
  end
  pieces[header] = '*' .. index .. '\r\n'
end

local function put_table(value, slot)
  local field = rawget(value, 'err')
  if type(field) == 'string' then
    native.is_error_counted = rawget(value, 'ignore_error_stats_update') == true
    if byte(field) == 45 then field = sub(field, 2) end
    return put('-' .. one_line(field) .. '\r\n')
  end
  field = rawget(value, 'ok')
  if type(field) == 'string' then return put('+' .. one_line(field) .. '\r\n') end
  field = rawget(value, 'double')
  if type(field) == 'number' then return put(host.double_reply(field, resp) or '') end
  field = rawget(value, 'map')
  if type(field) == 'table' then return put_map(field, slot) end
  field = rawget(value, 'set')
  if type(field) == 'table' then return put_set(field, slot) end
  field = rawget(value, 'big_number')
  if type(field) == 'string' then
    if resp == 3 then return put('(' .. one_line(field) .. '\r\n') end
    return put_bulk(one_line(field))
  end
  field = rawget(value, 'verbatim_string')
  if type(field) == 'table' and put_verbatim(field) then return end
  return put_array(value, slot)
end

-- Only nested tables take Lua frames: tail calls take none.
function put_value(value, slot)
  if slot > SLOT_LIMIT then return put('-ERR reached lua stack limit\r\n') end
  local kind = type(value)
  if kind == 'string' then
    put_bulk(value)
  elseif kind == 'number' then
    put(integer(value))
  elseif kind == 'boolean' then
    put_boolean(value)
  elseif kind == 'table' then
    return put_table(value, slot)
  else
    put_null()
  end
end

-- What a client that speaks `client_resp` gets for a value of a script that spoke `own_resp`.
function native.to_reply(value, client_resp, own_resp)
  local kind = type(value)
  if kind == 'string' then return '$' .. #value .. '\r\n' .. value .. '\r\n' end
  if kind == 'number' then return integer(value) end
  pieces, count, resp, script_resp = {}, 0, client_resp, own_resp
  put_value(value, 1)
  local reply = concat(pieces)
  pieces = {}
  return reply
end
