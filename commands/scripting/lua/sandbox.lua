-- The sandbox of scripts: the globals and the libraries, as read-only tables.
--
-- The environment of a script is an empty table whose metatable finds the globals; so are the
-- libraries in it. Functions that bypass a metatable (next, rawset, table.insert, ...) are replaced
-- by ones that know these tables. The interpreter's own globals, with debug, io, package and the
-- module that gives access to Python, are out of reach.
--
-- Source: the globals that Redis 7.0 shows, and os.clock of 7.4.

local host, native = ...

local error, type, tostring, tonumber, select = error, type, tostring, tonumber, select
local c_next, c_pairs, c_pcall, c_xpcall, c_unpack = next, pairs, pcall, xpcall, unpack
local c_rawset, c_rawget = rawset, rawget
local c_getmetatable, c_setmetatable, c_setfenv = getmetatable, setmetatable, setfenv
local getinfo = debug.getinfo
local c_load, c_random, c_randomseed = load, math.random, math.randomseed
local floor, min = math.floor, math.min
local c_loadstring, c_dump, c_rep, c_insert = loadstring, string.dump, string.rep, table.insert
local c_remove, c_sort, c_foreach = table.remove, table.sort, table.foreach
local c_collect, c_tostring = collectgarbage, tostring
local gsub, gmatch, match, byte = string.gsub, string.gmatch, string.match, string.byte
local sub, concat = string.sub, table.concat

local end_if_killed = native.end_if_killed
local NO_MEMORY = 'not enough memory'
local READ_ONLY = 'Attempt to modify a readonly table'

-- -- errors ---------------------------------------------------------------------------------------

-- Raise a C function's error for bad arguments, as if the script had called it itself. Called by a
-- function that the script calls, but not as a tail call.
function native.fail(name, f, ...)
  local _, message = c_pcall(f, ...)
  if message == NO_MEMORY then error(message, 0) end
  if type(message) == 'string' then
    message = gsub(message, "'%?'", "'" .. name .. "'")
    if getinfo(2, 'n').namewhat == 'method' then
      message = gsub(message, '^bad argument #(%d+)', function(index)
        return 'bad argument #' .. index - 1
      end)
      message = gsub(message, "^bad argument #0 to '.-'", "calling '" .. name .. "' on bad self")
    end
  end
  error(message, 3)
end
local fail = native.fail

-- -- tables that cannot be changed ----------------------------------------------------------------

local contents = {}    -- of each read-only table
local metatables = {}  -- that getmetatable returns for them

local function refuse() error(READ_ONLY, 2) end

local function protect(table)
  local front = {}
  contents[front] = table
  return c_setmetatable(front, {__index = table, __newindex = refuse})
end
native.protect = protect
function native.set_contents(front, table) contents[front] = table end

local globals = {}
local environment = protect(globals)
local globals_metatable = {
  __index = function(table, name)
    -- Valkey's name for the library; it is not listed among the globals, as Redis has none.
    local library = name == 'server' and c_rawget(table, 'redis')
    if library then return library end
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
}
c_setmetatable(globals, globals_metatable)
globals._G = environment
metatables[environment] = protect(globals_metatable)

local function next(table, key)
  return c_next(contents[table] or table, key)
end

function globals.next(...)
  if type((...)) ~= 'table' then return (fail('next', c_next, ...)) end
  local table, key = ...
  return c_next(contents[table] or table, key)
end

function globals.pairs(...)
  local table = ...
  if type(table) ~= 'table' then return (fail('pairs', c_pairs, ...)) end
  if contents[table] then return next, table, nil end
  return c_next, table, nil
end

function globals.rawget(...)
  local table, key = ...
  if type(table) ~= 'table' or select('#', ...) < 2 then return (fail('rawget', c_rawget, ...)) end
  return c_rawget(contents[table] or table, key)
end

function globals.rawset(...)
  local table, key, value = ...
  if type(table) ~= 'table' or select('#', ...) < 3 then return (fail('rawset', c_rawset, ...)) end
  if key == nil then error('table index is nil', 0) end
  if key ~= key then error('table index is NaN', 0) end
  if contents[table] then error(READ_ONLY, 0) end
  return c_rawset(table, key, value)
end

local string_library = {}
local shown_string_metatable

function globals.getmetatable(...)
  local value = ...
  if select('#', ...) == 0 then return (fail('getmetatable', c_getmetatable)) end
  local kind = type(value)
  if kind == 'table' then
    if contents[value] then return metatables[value] end
    return c_getmetatable(value)
  elseif kind == 'string' then
    return shown_string_metatable
  end
  return nil
end

function globals.setmetatable(...)
  local table, metatable = ...
  local kind = type(metatable)
  if type(table) ~= 'table' or select('#', ...) < 2 or (kind ~= 'table' and kind ~= 'nil') then
    return (fail('setmetatable', c_setmetatable, ...))
  end
  if contents[table] then error(READ_ONLY, 0) end
  local ok, message = c_pcall(c_setmetatable, table, metatable)
  if not ok then error(message, 2) end
  return table
end

-- -- code -----------------------------------------------------------------------------------------

-- The parser asks for a long source piece by piece: between them the hook can run.
local PIECE = 65536

local function parse(source, name)
  if #source <= PIECE then return c_loadstring(source, name) end
  local at = 1
  return c_load(function()
    local piece = sub(source, at, at + PIECE - 1)
    at = at + PIECE
    return piece
  end, name)
end

-- A function from source, or nil and the error. Bytecode is refused. `name` stays referenced here
-- while the parser runs, which has only a bare pointer to it (CVE-2025-49844).
function native.compile(source, name, wanted_environment)
  name = match(name, '^[^%z]*')
  if byte(source) == 27 then source = ' ' .. source end
  local f, message = parse(source, name)
  end_if_killed()
  if not f then return nil, message end
  local patched = host.keep_callers(c_dump(f))
  if patched then f = c_loadstring(patched, name) end
  return c_setfenv(f, wanted_environment or environment), name
end
local compile = native.compile

-- The same for the host: a function, its number and whether it is brief; or nil and the error.
function native.compile_numbered(source, name)
  local f, message = compile(source, name)
  if f then return f, native.number(f), host.is_brief(c_dump(f)) or false end
  return nil, message
end

function globals.loadstring(...)
  local source, name = ...
  if type(source) == 'number' then source = tostring(source) end
  if type(source) ~= 'string' or (name ~= nil and type(name) ~= 'string') then
    return (fail('loadstring', c_loadstring, ...))
  end
  local f, message = compile(source, name or source, native.current_environment)
  if f then return f end
  return nil, message
end

function globals.load(...)
  local reader, name = ...
  if type(reader) ~= 'function' or (name ~= nil and type(name) ~= 'string') then
    return (fail('load', c_load, ...))
  end
  local pieces = {}
  while true do
    local piece = reader()
    if piece == nil or piece == '' then break end
    if type(piece) == 'number' then piece = tostring(piece) end
    if type(piece) ~= 'string' then return nil, 'reader function must return a string' end
    pieces[#pieces + 1] = piece
  end
  local f, message = compile(concat(pieces), name or '=(load)', native.current_environment)
  if f then return f end
  return nil, message
end

-- Each allocation runs one step of the collector, whatever its size. With Lua's own short steps a
-- few large texts would fill the memory before garbage is found.
c_collect('setstepmul', 100000)

-- -- calls ----------------------------------------------------------------------------------------

-- pcall returns the text of an error object with Redis's fields.
local function shown(ok, ...)
  end_if_killed()
  if ok then return true, ... end
  local problem = ...
  if type(problem) == 'table' then
    local text = problem.err
    if type(text) == 'string' then return false, text end
  end
  return false, ...
end

function globals.pcall(...)
  if select('#', ...) == 0 then
    return false, "bad argument #1 to 'pcall' (value expected)"
  end
  return shown(c_pcall(...))
end

-- An error in a handler calls it again: that often, until Lua's own stack ends it.
local HANDLER_CALLS = 221

local function handled(handler, ok, ...)
  end_if_killed()
  if ok then return true, ... end
  local value = ...
  if type(handler) == 'function' then
    for _ = 1, HANDLER_CALLS do
      ok, value = c_pcall(handler, value)
      end_if_killed()
      if ok then return false, value end
    end
  end
  return false, 'error in error handling'
end

-- The handler runs after the stack is unwound: Lua disables hooks while an error that a hook has
-- raised is handled, so a handler that Lua called itself could not be stopped.
function globals.xpcall(...)
  if select('#', ...) < 2 then return (fail('xpcall', c_xpcall, ...)) end
  local f, handler = ...
  return handled(handler, c_pcall(f))
end

-- The number of values that a C frame holds.
local FRAME_LIMIT = 8000

function globals.unpack(...)
  local table, from, to = ...
  if type(table) ~= 'table' then return (fail('unpack', c_unpack, ...)) end
  from, to = tonumber(from or 1), tonumber(to or #table)
  if not from or not to then return (fail('unpack', c_unpack, ...)) end
  -- C counts in 32 bits.
  if to - from + 1 + select('#', ...) > FRAME_LIMIT then
    error('too many results to unpack', 2)
  end
  if to - from > 1000 then native.check_clock() end
  return c_unpack(...)
end

function globals.collectgarbage(option, argument)
  option = option == nil and 'collect' or option
  if option == 'count' then return c_collect('count') end
  if option == 'collect' or option == 'step' then
    local result = c_collect(option, argument)
    native.check_clock()
    return result
  end
  -- Scripts must not stop the collector or slow it down.
  if option == 'stop' or option == 'restart' then return 0 end
  if option == 'setpause' or option == 'setstepmul' then return 200 end
  return (fail('collectgarbage', c_collect, option))
end

for _, name in c_pairs({
  'assert', 'error', 'gcinfo', 'ipairs', 'rawequal', 'select', 'tonumber', 'tostring', 'type',
  '_VERSION',
}) do
  globals[name] = _G[name]
end

-- -- libraries ------------------------------------------------------------------------------------

local function copy(library, names)
  local result = {}
  for name in gmatch(names, '%S+') do result[name] = library[name] end
  return result
end

for name, f in c_pairs(copy(string, 'byte char gfind len sub')) do
  string_library[name] = f
end
for name, f in c_pairs(native.patterns) do string_library[name] = f end

-- A call into C counts as one instruction, however long it takes: above this size the hook runs.
local LONG = 10000

for name, f in c_pairs(copy(string, 'lower reverse upper')) do
  string_library[name] = function(...)
    local text = ...
    local kind = type(text)
    if kind ~= 'string' and kind ~= 'number' then return (fail(name, f, ...)) end
    if kind == 'string' and #text > LONG then native.check_clock() end
    return f(text)
  end
end

-- The length of what these make is known only then. `original`: the C function in `f`, whose errors
-- are shown.
local function measured(name, f, original)
  return function(...)
    local ok, text = c_pcall(f, ...)
    end_if_killed()
    if not ok then return (fail(name, original or f, ...)) end
    if #text > LONG then native.check_clock() end
    return text
  end
end

string_library.format = measured('format', string.format)
string_library.dump = measured('dump', c_dump)

local REP_LIMIT = 128 * 1024 * 1024

-- Halves are joined, which copies memory; C's rep appends the copies one by one.
local function repeated(text, times)
  if #text * times <= LONG then return c_rep(text, times) end
  if times == 1 then return text end
  local half = repeated(text, floor(times / 2))
  if times % 2 == 0 then return half .. half end
  return half .. half .. text
end

function string_library.rep(...)
  local text, count = ...
  local times = tonumber(count)
  local kind = type(text)
  if kind == 'number' then text, kind = tostring(text), 'string' end
  if kind ~= 'string' or not times then return (fail('rep', c_rep, ...)) end
  if #text == 0 then return '' end
  local size = #text * times
  if size > REP_LIMIT then error(NO_MEMORY, 0) end
  if not (size > LONG) then return c_rep(text, times) end
  native.check_clock()
  return repeated(text, floor(times))
end

local table_library = copy(table, 'foreachi getn maxn setn')

-- Many elements are joined in parts, between which the hook can run.
local PART = 10000

local function concat_parts(...)
  local list, separator, from, to = ...
  if type(list) ~= 'table' or #list <= PART then return concat(...) end
  from, to = tonumber(from or 1), tonumber(to or #list)
  if not from or not to or from < 1 or to > #list then return concat(...) end
  local parts, count = {}, 0
  for at = from, to, PART do
    count = count + 1
    parts[count] = concat(list, separator, at, min(at + PART - 1, to))
  end
  return concat(parts, separator)
end

table_library.concat = measured('concat', concat_parts, concat)

function table_library.remove(...)
  local table, position = ...
  if type(table) ~= 'table' or (position ~= nil and not tonumber(position)) then
    return (fail('remove', c_remove, ...))
  end
  if position and #table - position > LONG then native.check_clock() end
  return c_remove(...)
end

function table_library.insert(...)
  local table, position = ...
  if type(table) ~= 'table' then return (fail('insert', c_insert, ...)) end
  if contents[table] then error(READ_ONLY, 0) end
  local count = select('#', ...)
  if count == 2 then
    return c_insert(table, (select(2, ...)))
  elseif count ~= 3 then
    error("wrong number of arguments to 'insert'", 2)
  end
  position = tonumber(position)
  if not position then return (fail('insert', c_insert, ...)) end
  -- C moves the elements from the position to the end, of which there may be billions.
  if position < -1000000 then error('not enough memory', 0) end
  if #table - position > LONG then native.check_clock() end
  return c_insert(...)
end

function table_library.foreach(...)
  local table, f = ...
  if type(table) ~= 'table' then return (fail('foreach', c_foreach, ...)) end
  return c_foreach(contents[table] or table, f)
end

local function is_less(a, b) return a < b end

function table_library.sort(...)
  local table, order = ...
  if type(table) ~= 'table' or (order ~= nil and type(order) ~= 'function') then
    return (fail('sort', c_sort, ...))
  end
  -- Only a comparison in Lua lets the hook stop a long sort.
  if not order and #table > 2000 then order = is_less end
  local ok, problem = c_pcall(c_sort, table, order)
  if ok then return end
  if problem == 'invalid order function for sorting' then error(problem, 2) end
  if type(problem) == 'string' then problem = gsub(problem, '^rillway:%d+: ', '') end
  error(problem, 0)
end

local math_library = copy(math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp
  huge ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh]])

-- A seed is that of one script: the sequence of all others goes on after it.
local random = host.random

local function end_seeding() random = host.random end

function math_library.random(...)
  local count, low, high = select('#', ...), ...
  if count == 0 then return random() end
  if count > 2 then error('wrong number of arguments', 2) end
  if not tonumber(low) or (count == 2 and not tonumber(high)) then
    return (fail('random', c_random, ...))
  end
  low, high = floor(tonumber(low)), floor(tonumber(high) or 0)
  if count == 1 then low, high = 1, low end
  if low > high then
    error('bad argument #' .. count .. " to 'random' (interval is empty)", 2)
  end
  return floor(random() * (high - low + 1)) + low
end

function math_library.randomseed(...)
  local seed = tonumber((...))
  if not seed then return (fail('randomseed', c_randomseed, ...)) end
  native.at_end(end_seeding)
  random = host.seeded_random
  host.seed(seed)
end

local coroutine_library = copy(coroutine, 'resume running status yield')
local c_create, c_wrap = coroutine.create, coroutine.wrap

-- Each coroutine has its own hook.
local function watched(f)
  return function(...)
    native.watch()
    return f(...)
  end
end

function coroutine_library.create(...)
  if type((...)) ~= 'function' then return (fail('create', c_create, ...)) end
  return c_create(watched((...)))
end

function coroutine_library.wrap(...)
  if type((...)) ~= 'function' then return (fail('wrap', c_wrap, ...)) end
  return c_wrap(watched((...)))
end

local function go_on(...)
  end_if_killed()
  return ...
end

local c_resume = coroutine.resume
function coroutine_library.resume(...)
  if type((...)) ~= 'thread' then return (fail('resume', c_resume, ...)) end
  return go_on(c_resume(...))
end

-- -- assembly -------------------------------------------------------------------------------------

-- Add a library, or other globals.
function native.add_library(name, library) globals[name] = protect(library) end

native.add_library('string', string_library)
native.add_library('table', table_library)
native.add_library('math', math_library)
native.add_library('coroutine', coroutine_library)
native.add_library('os', {clock = os.clock})

c_getmetatable('').__index = string_library
shown_string_metatable = protect({__index = globals.string})

native.globals, native.environment = globals, environment
native.globals_metatable, native.string_library = globals_metatable, string_library
