-- The `redis` library.

local host, native = ...

local error, type, select, tostring, tonumber = error, type, select, tostring, tonumber
local byte, sub, find, concat = string.byte, string.sub, string.find, table.concat
local pack_arguments, from_reply = native.pack_arguments, native.from_reply
local host_call, host_call_many = host.call, host.call_many

local FEW = 12  -- arguments that go to Python one by one

local NO_MEMORY = 'not enough memory'

local library = {}

-- A command failed (-), or its arguments were invalid (!), which is not counted as an error.
local function problem(reply)
  local text = sub(reply, 2, -3)
  if byte(reply) == 45 then return {err = text, ignore_error_stats_update = true} end
  return {err = text}
end

-- What redis.call is where the host's crossing does not make it (interpreter.py).
local function make_caller(conclude)
  return function(...)
    if select('#', ...) <= FEW then return conclude(host_call(...)) end
    return conclude(host_call_many(pack_arguments(...)))
  end
end
make_caller = native.make_caller or make_caller

-- These get the reply of a command, nil if there is no memory for it; the crossing passes on only
-- what it has not made a value of.
library.call = make_caller(function(reply)
  if not reply then error(NO_MEMORY, 0) end
  local kind = byte(reply)
  if kind == 45 or kind == 33 then error(problem(reply), 0) end
  return from_reply(kind, reply)
end)

library.pcall = make_caller(function(reply)
  if not reply then error(NO_MEMORY, 0) end
  local kind = byte(reply)
  if kind == 45 or kind == 33 then return problem(reply) end
  return from_reply(kind, reply)
end)

local function raise(text) error({err = 'ERR ' .. text}, 0) end

function library.error_reply(...)
  local text = ...
  if select('#', ...) ~= 1 or type(text) ~= 'string' then
    return {err = 'ERR wrong number or type of arguments'}
  end
  if byte(text) == 45 then text = sub(text, 2) end
  if not find(text, ' ', 1, true) then text = 'ERR ' .. text end
  return {err = text}
end

function library.status_reply(...)
  local text = ...
  if select('#', ...) ~= 1 or type(text) ~= 'string' then
    return {err = 'ERR wrong number or type of arguments'}
  end
  return {ok = text}
end

function library.sha1hex(...)
  local text = ...
  if select('#', ...) ~= 1 then raise('wrong number of arguments') end
  local kind = type(text)
  if kind == 'number' then text = tostring(text) elseif kind ~= 'string' then text = '' end
  if #text > 100000 then native.check_clock() end
  return host.sha1hex(text) or error(NO_MEMORY, 0)
end

function library.log(...)
  local count, level = select('#', ...), tonumber((...))
  if count < 2 then raise('redis.log() requires two arguments or more.') end
  if type((...)) ~= 'number' then raise('First argument must be a number (log level).') end
  if level < 0 or level > 3 then raise('Invalid log level.') end
  local words = {}
  for index = 2, count do
    local word = select(index, ...)
    local kind = type(word)
    if kind == 'string' or kind == 'number' then words[#words + 1] = word end
  end
  host.log(level, concat(words, ' '))
end

function library.setresp(...)
  if select('#', ...) ~= 1 then raise('redis.setresp() requires one argument.') end
  local version = tonumber((...))
  if version ~= 2 and version ~= 3 then raise('RESP version must be 2 or 3.') end
  native.set_resp(version)
  host.set_resp(version)
end

function library.set_repl(...)
  if select('#', ...) ~= 1 then raise('redis.set_repl() requires one argument.') end
  local flags = tonumber((...))
  if not flags or flags < 0 or flags > 3 then
    raise('Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.')
  end
  host.set_repl(flags)
end

function library.acl_check_cmd(...)
  local answer = host.acl_check(pack_arguments(...))
  if type(answer) == 'boolean' then return answer end
  error({err = answer or NO_MEMORY}, 0)
end

library.LOG_DEBUG, library.LOG_VERBOSE, library.LOG_NOTICE, library.LOG_WARNING = 0, 1, 2, 3
library.REPL_NONE, library.REPL_AOF, library.REPL_REPLICA, library.REPL_SLAVE = 0, 1, 2, 2
library.REPL_ALL = 3
library.REDIS_VERSION, library.REDIS_VERSION_NUM = host.version, host.version_number

if native.is_for_scripts then
  function library.replicate_commands() return true end
  function library.breakpoint() return false end
  function library.debug() end
end

native.redis = library
native.add_library('redis', library)
