-- Libraries of functions: the environment in which their source is loaded.
--
-- A library sees only `redis`, with few functions in it, until its functions run.

local host, native = ...

local error, type, tostring, select, next, rawget = error, type, tostring, select, next, rawget
local getmetatable, setmetatable, unpack = getmetatable, setmetatable, unpack
local pcall, dump = pcall, string.dump

local registered  -- by the library that is being loaded; nil: none is

local function raise(text) error({err = 'ERR ' .. text}, 0) end

local function add(name, callback, description, flags)
  if not registered then
    raise('redis.register_function can only be called on FUNCTION LOAD command')
  end
  local number = native.number(callback)
  local is_in_lua, dumped = pcall(dump, callback)
  local is_brief = is_in_lua and host.is_brief(dumped) or false
  description = description or false
  registered[#registered + 1] = {name, callback, number, is_brief, description, unpack(flags)}
end

local function text_of(value)
  local kind = type(value)
  if kind == 'string' then return value end
  return kind == 'number' and tostring(value) or nil
end

local function read_flags(value)
  if type(value) ~= 'table' then
    raise('flags argument to redis.register_function must be a table representing function flags')
  end
  local flags, index = {}, 1
  while true do
    local flag = rawget(value, index)
    if flag == nil then return flags end
    if not native.function_flags[flag] then raise('unknown flag given') end
    flags[index], index = flag, index + 1
  end
end

local function register_named(arguments)
  local name, callback, description, flags = nil, nil, nil, {}
  for key, value in next, arguments do
    if key == 'function_name' then
      name = text_of(value)
      if not name then
        raise('function_name argument given to redis.register_function must be a string')
      end
    elseif key == 'description' then
      description = text_of(value)
      if not description then
        raise('description argument given to redis.register_function must be a string')
      end
    elseif key == 'callback' then
      callback = value
      if type(value) ~= 'function' then
        raise('callback argument given to redis.register_function must be a function')
      end
    elseif key == 'flags' then
      flags = read_flags(value)
    else
      raise('unknown argument given to redis.register_function')
    end
  end
  if not name then raise('redis.register_function must get a function name argument') end
  if not callback then raise('redis.register_function must get a callback argument') end
  add(name, callback, description, flags)
end

local function register_function(...)
  local count, first, callback = select('#', ...), ...
  if count < 1 or count > 2 then
    raise('wrong number of arguments to redis.register_function')
  end
  if count == 1 then
    if type(first) ~= 'table' then
      raise('calling redis.register_function with a single argument is only applicable to Lua'
        .. ' table (representing named arguments).')
    end
    return register_named(first)
  end
  local name = text_of(first)
  if not name then raise('first argument to redis.register_function must be a string') end
  if type(callback) ~= 'function' then
    raise('second argument to redis.register_function must be a function')
  end
  add(name, callback, nil, {})
end

-- The host (Python) checks names and returns the error text.
local function checked(...)
  register_function(...)
  local last = registered[#registered]
  local problem = host.register(last[1])
  if problem then
    registered[#registered] = nil
    error({err = problem}, 0)
  end
end

local few = {register_function = checked, log = native.redis.log}
for name, value in next, native.redis do
  if type(value) ~= 'function' then few[name] = value end
end
local while_loading = setmetatable(
  {redis = native.protect(setmetatable(few, native.globals_metatable))}, native.globals_metatable
)

local environment_metatable = getmetatable(native.environment)

local function switch(globals)
  environment_metatable.__index = globals
  native.set_contents(native.environment, globals)
end

-- Run a library's source; its functions as a list of {name, function, its number, whether it is
-- brief, description or false, flags...}, or false and an error's text.
function native.load_library(f)
  registered = {}
  switch(while_loading)
  local result, problem = native.run(f)
  switch(native.globals)
  local list = registered
  registered = nil
  if result then return list end
  return false, problem
end
