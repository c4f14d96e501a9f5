-- The `bit` library: operations on 32-bit integers, which Python does.

local host, native = ...

local select, tonumber, type, error, format = select, tonumber, type, error, string.format
local unpack, floor, upper, sub = unpack, math.floor, string.upper, string.sub

local library = {}

-- The argument as a number, or C's error for it, raised at the caller's caller.
local function number(name, index, count, value)
  local result = tonumber(value)
  if result then return result end
  local kind = index > count and 'no value' or type(value)
  error(format("bad argument #%d to '%s' (number expected, got %s)", index, name, kind), 4)
end

local function numbers(name, at_least, ...)
  local count = select('#', ...)
  if count == at_least and count <= 2 then
    local first, second = ...
    if type(first) == 'number' and (count == 1 or type(second) == 'number') then return ... end
  end
  local list = {...}
  if count > 200 then error('too many arguments', 3) end
  for index = 1, count > at_least and count or at_least do
    list[index] = number(name, index, count, list[index])
  end
  return unpack(list, 1, count > at_least and count or at_least)
end

for name, arguments in pairs({
  tobit = 1, bnot = 1, bswap = 1, lshift = 2, rshift = 2, arshift = 2, rol = 2, ror = 2,
}) do
  local operation = host['bit_' .. name]
  library[name] = function(...)
    local first, second = numbers(name, arguments, ...)
    if arguments == 1 then return operation(first) end
    return operation(first, second)
  end
end

for _, name in ipairs({'band', 'bor', 'bxor'}) do
  local operation = host['bit_' .. name]
  library[name] = function(...) return operation(numbers(name, 1, ...)) end
end

function library.tohex(...)
  local value, digits = numbers('tohex', select('#', ...) > 1 and 2 or 1, ...)
  digits = digits and host.bit_tobit(digits) or 8
  local is_upper = digits < 0
  if is_upper then digits = -digits end
  if digits > 8 then digits = 8 end
  local bits = host.bit_tobit(value)
  if bits < 0 then bits = bits + 4294967296 end
  local text = sub(format('%08x', bits), 9 - digits)
  return is_upper and upper(text) or text
end

native.add_library('bit', library)
