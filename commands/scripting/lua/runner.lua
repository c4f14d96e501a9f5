-- Runs scripts: with a hook that checks the clock, and with errors that name their line.
--
-- Only this file and what it loads use the debug library. Functions of the host (Python) are called
-- from here and never passed to scripts; none of them raises.

local host, native = ...

local error, pcall, xpcall, type, tostring = error, pcall, xpcall, type, tostring
local newproxy, getmetatable, setmetatable = newproxy, getmetatable, setmetatable
local getinfo, sethook, time, c_collect = debug.getinfo, debug.sethook, os.time, collectgarbage
local floor, max, min = math.floor, math.max, math.min
local next, byte, sub = next, string.byte, string.sub


-- -- time -----------------------------------------------------------------------------------------

local KILLED = {}
local is_running, is_killed, stopping = false, false, nil
local instructions = native.instructions  -- between two checks of the clock
local is_early = false  -- the next check comes before that, because of long work
local entry

-- One instruction takes up to a nanosecond for each byte in use: it may compare two long strings,
-- or copy a large table. So the more memory there is, the sooner the hook runs; it then reads only
-- the second, unless `instructions` have passed. This bounds what runs between two hooks to about a
-- quarter of a second.
local KBYTE_INSTRUCTIONS = native.kbyte_instructions
local pace = instructions  -- between two hooks
local ran, second = 0, 0  -- since the last check of the clock; when that was
local base_kbytes = 0  -- in use before scripts run

-- Why a script ends, by the host's result of a check of the clock. Any other is the number of
-- instructions until the next check.
local STOPS = {
  [-1] = 'ERR Script killed by user with SCRIPT KILL...',
  [-2] = 'ERR FUNCTION LOAD timeout',
}

local function hook()
  if not is_running then return end
  if is_killed then
    if getinfo(2, 'f').func == entry then return end
    sethook(hook, '', 1)  -- this coroutine may have another pace than the one that was killed
    error(KILLED, 0)
  end
  ran = ran + pace
  if ran < instructions and not is_early and time() == second then return end
  ran, second = 0, time()
  local most = floor(KBYTE_INSTRUCTIONS / max(1, c_collect('count') - base_kbytes)) + 1
  local answer = host.check_clock(is_early, most) or 1
  is_early = false
  stopping = STOPS[answer]
  if stopping then
    is_killed = true
    sethook(hook, '', 1)
    error(KILLED, 0)
  end
  instructions, pace = answer, min(answer, most)
  sethook(hook, '', pace)
end

function native.collect()
  c_collect('collect')
  base_kbytes = c_collect('count')
end

-- The running coroutine needs a hook, too.
function native.watch() sethook(hook, '', is_killed and 1 or pace) end

local function early_hook()
  if is_killed then return sethook(hook, '', 1) end
  is_early = true
  hook()
end

-- Check the clock at the next instruction: long work has counted as few instructions. The host calls
-- `sethook` itself: in a function of Lua, the next instruction would be that function's own.
local function look() sethook(early_hook, '', 1) end
native.check_clock, native.sethook, native.early_hook = look, sethook, early_hook

-- Raise a kill again. Whatever catches errors calls this before it goes on: pcall, xpcall,
-- coroutine.resume. So no script outlives its kill, whichever coroutine it arrived in.
function native.end_if_killed()
  if is_killed then error(KILLED, 0) end
end

-- Every cycle of the collector checks the clock, too: few instructions can make large texts.
local function renew()
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = function()
    if is_running and not is_killed then look() end
    renew()
  end
end
renew()

sethook(hook, '', pace)

-- -- errors ---------------------------------------------------------------------------------------

-- The script's position: the innermost function that is not one of ours.
local function position()
  local level = 2
  while true do
    local info = getinfo(level, 'Sl')
    if not info then return nil end
    if info.what ~= 'C' and info.what ~= 'tail' and info.source ~= '=rillway' then
      local source = info.source
      return source, tostring(info.currentline)
    end
    level = level + 1
  end
end

-- A field of an error object as Redis shows it: a string or a number.
local function text_of(value)
  local kind = type(value)
  if kind == 'string' then return value end
  return kind == 'number' and tostring(value) or nil
end

-- Describe an error: its text, source and line, whether it was counted, whether it is a kill. Runs
-- as a part of the script, because the fields of an error object may have metamethods.
local function on_error(problem)
  local source, line = position()
  if problem == KILLED then return {stopping, source, line, nil, true} end
  if problem == 'not enough memory' then native.collect() end
  if type(problem) ~= 'table' then return {'ERR ' .. tostring(problem), source, line} end
  problem.source, problem.line = source, line
  return {
    text_of(problem.err) or 'ERR unknown error', text_of(problem.source), text_of(problem.line),
    problem.ignore_error_stats_update == true,
  }
end

-- -- running --------------------------------------------------------------------------------------

local run_resp, wanted_resp, body_function, body_keys, body_arguments = 2, 2, nil, nil, nil

function native.set_resp(resp) run_resp = resp end
function native.get_resp() return run_resp end

-- The crossing makes the usual replies itself, if it can (interpreter.py).
local encode = native.encode

-- What a script sets in a library lasts until the script ends, whatever way it ends: functions that
-- undo it. They allocate nothing, because there may be no memory left.
local undoing, is_undone = {}, true

function native.at_end(undo) undoing[undo], is_undone = true, false end

local function undo_all()
  for undo in next, undoing do
    undoing[undo] = nil
    undo()
  end
  is_undone = true
end

local function body()
  local value = body_function(body_keys, body_arguments)
  if encode and encode(value, wanted_resp, run_resp) then return true end
  return native.to_reply(value, wanted_resp, run_resp)
end

-- The error if there is no memory for its description. Lua does not collect garbage by itself then.
local function out_of_memory()
  native.collect()
  return false, 'ERR not enough memory'
end

-- The reply of a function as bytes, or true if the crossing has it; or false, the error's text, its
-- source and line, and whether the error was counted already. An error that the function returns has
-- no source and no line.
function entry(f, resp, keys, arguments)
  is_running, is_killed, stopping, run_resp, wanted_resp = true, false, nil, 2, resp
  body_function, body_keys, body_arguments = f, keys, arguments
  local ok, value = xpcall(body, on_error)
  is_running = false
  if not is_undone then undo_all() end
  if is_killed then
    is_killed = false
    sethook(hook, '', pace)
    if ok or type(value) ~= 'table' or not value[5] then return false, stopping end
  end
  if ok then
    if value == true or byte(value) ~= 45 then return value end  -- -
    return false, sub(value, 2, -3), nil, nil, native.is_error_counted
  end
  if type(value) ~= 'table' then return out_of_memory() end
  return false, value[1], value[2], value[3], value[4]
end

function native.run(f) return entry(f, 2) end

-- Functions by number, for the crossing: each as long as the host keeps it.
local functions, numbered = setmetatable({}, {__mode = 'v'}), 0
native.functions = functions

function native.number(f)
  numbered = numbered + 1
  functions[numbered] = f
  return numbered
end

-- A script of EVAL, with the tables KEYS and ARGV.
function native.run_script(f, resp, keys, arguments)
  local globals = native.globals
  globals.KEYS, globals.ARGV = keys, arguments
  return entry(f, resp)
end

-- A function of a library, which gets keys and arguments as two tables.
native.run_function = entry
