-- string.find, match, gmatch and gsub with bounded time.
--
-- Lua's own matcher is C code, which cannot be interrupted, and for some patterns its time grows
-- with a power of the subject's length. So the cost of each pattern is estimated first. If it is
-- low for this subject, Lua's own matcher runs; otherwise a slower matcher in Lua, with the same
-- results, which the hook can stop.
--
-- Source: the Lua 5.1 reference manual, 5.4.1.

local host, native = ...

local byte, sub, find, gsub = string.byte, string.sub, string.find, string.gsub
local concat, floor, tonumber, tostring, type = table.concat, math.floor, tonumber, tostring, type
local error, select, unpack = error, select, unpack

-- The number of comparisons that C may make in one call: about 30 ms.
local WORK_LIMIT = native.work_limit or 2e7
local ITEM_LIMIT = 150    -- items that may nest in C's stack
local WORK_BETWEEN_LOOKS = 4e6
local CACHE_LIMIT = 500

-- The characters with a meaning.
local PERCENT, OPEN, CLOSE, DOT, BRACKET, BRACKET_END, CARET, DOLLAR =
  37, 40, 41, 46, 91, 93, 94, 36
local STAR, PLUS, MINUS, QUESTION = 42, 43, 45, 63
local LOWER_B, LOWER_F = 98, 102

-- -- what a pattern costs ------------------------------------------------------------------------

-- The position after the single-character class at `at`; nil: it does not end.
local function class_end(pattern, at)
  local first = byte(pattern, at)
  if first == PERCENT then
    return at < #pattern and at + 2 or nil
  elseif first ~= BRACKET then
    return at + 1
  end
  at = at + 1
  if byte(pattern, at) == CARET then at = at + 1 end
  local start = at
  while true do
    local char = byte(pattern, at)
    if not char then return nil end
    if char == BRACKET_END and at > start then return at + 1 end
    at = at + (char == PERCENT and 2 or 1)
  end
end

-- The numbers of a pattern's items that may match any number of characters, that may be absent, and
-- that may nest.
local function weigh(pattern)
  local at, open, optional, items, last = 1, 0, 0, 0, false
  if byte(pattern, 1) == CARET then at = 2 else open = 1 end
  while at <= #pattern do
    local char = byte(pattern, at)
    if char == OPEN or char == CLOSE then
      at, items = at + 1, items + 1
      if char == OPEN then last = false end
    elseif char == PERCENT and byte(pattern, at + 1) == LOWER_B then
      at, items, open, last = at + 4, items + 1, open + 1, false
    elseif char == PERCENT and byte(pattern, at + 1) == LOWER_F then
      at, last = at + 2, false
    else
      local stop = class_end(pattern, at)
      if not stop then break end
      local sign = byte(pattern, stop)
      last = false
      if sign == STAR or sign == PLUS or sign == MINUS then
        stop, items, open, last = stop + 1, items + 1, open + 1, true
      elseif sign == QUESTION then
        stop, items, optional = stop + 1, items + 1, optional + 1
      end
      at = stop
    end
  end
  -- After a repetition at the very end nothing can fail, so there is no backtracking.
  if last then open = open - 1 end
  return {open, optional, items}
end

local weights, weight_count = {}, 0

local function is_cheap(subject_length, pattern)
  local weight = weights[pattern]
  if not weight then
    if #pattern > 10000 then return false end
    weight = weigh(pattern)
    weight_count = weight_count + 1
    if weight_count > CACHE_LIMIT then weights, weight_count = {}, 1 end
    weights[pattern] = weight
  end
  if weight[3] > ITEM_LIMIT then return false end
  local open = weight[1]
  if open <= 1 and weight[2] == 0 then return open < 1 or subject_length <= WORK_LIMIT end
  return (subject_length + 1) ^ open * 2 ^ weight[2] <= WORK_LIMIT
end

-- C scans long strings without counting instructions: let the hook run next.
local work = 0
local function note_work(length)
  work = work + length
  if work > WORK_BETWEEN_LOOKS then
    work = 0
    native.check_clock()
  end
end

-- -- the matcher in Lua --------------------------------------------------------------------------

local CLASSES = {}
for letter, set in pairs({
  a = '%a', c = '%c', d = '%d', l = '%l', p = '%p', s = '%s', u = '%u', w = '%w', x = '%x', z = '%z',
}) do
  local yes, no = {}, {}
  for code = 0, 255 do
    local is_in = find(string.char(code), set) ~= nil
    yes[code], no[code] = is_in, not is_in
  end
  CLASSES[byte(letter)], CLASSES[byte(string.upper(letter))] = yes, no
end

local function in_set(char, pattern, at, stop)
  local wanted = true
  at = at + 1
  if byte(pattern, at) == CARET then wanted, at = false, at + 1 end
  while at < stop do
    local from = byte(pattern, at)
    if from == PERCENT then
      local escaped = byte(pattern, at + 1)
      local class = CLASSES[escaped]
      if class then
        if class[char] then return wanted end
      elseif escaped == char then
        return wanted
      end
      at = at + 2
    elseif byte(pattern, at + 1) == MINUS and at + 2 < stop then
      if from <= char and char <= byte(pattern, at + 2) then return wanted end
      at = at + 3
    else
      if from == char then return wanted end
      at = at + 1
    end
  end
  return not wanted
end

local function is_single(char, pattern, at, stop)
  local first = byte(pattern, at)
  if first == DOT then return true end
  if first == PERCENT then
    local escaped = byte(pattern, at + 1)
    local class = CLASSES[escaped]
    if class then return class[char] end
    return escaped == char
  end
  if first == BRACKET then return in_set(char, pattern, at, stop - 1) end
  return first == char
end

-- A match under way: subject, pattern, the captures' starts and lengths (-1: open, -2: a position).
local match

local function capture_to_close(state)
  for level = state.level, 1, -1 do
    if state.length[level] == -1 then return level end
  end
  error('invalid pattern capture', 0)
end

local function match_balance(state, at, item)
  local pattern, subject = state.pattern, state.subject
  local opening, closing = byte(pattern, item), byte(pattern, item + 1)
  if not closing then error('unbalanced pattern', 0) end
  if byte(subject, at) ~= opening then return nil end
  local depth = 1
  for position = at + 1, #subject do
    local char = byte(subject, position)
    if char == closing then
      depth = depth - 1
      if depth == 0 then return position + 1 end
    elseif char == opening then
      depth = depth + 1
    end
  end
  return nil
end

local function match_frontier(state, at, item, stop)
  local subject, pattern = state.subject, state.pattern
  local before = byte(subject, at - 1)
  if at == 1 or not before then before = 0 end
  return not in_set(before, pattern, item, stop - 1)
    and in_set(byte(subject, at) or 0, pattern, item, stop - 1)
end

local function match_back_reference(state, at, digit)
  local level = digit - 48
  if level < 1 or level > state.level or state.length[level] == -1 then
    error('invalid capture index', 0)
  end
  local length = state.length[level]
  local captured = sub(state.subject, state.start[level], state.start[level] + length - 1)
  if sub(state.subject, at, at + #captured - 1) == captured then return at + #captured end
  return nil
end

local function match_most(state, at, item, stop)
  local subject, pattern, count = state.subject, state.pattern, 0
  local length = #subject
  while at + count <= length and is_single(byte(subject, at + count), pattern, item, stop) do
    count = count + 1
  end
  while count >= 0 do
    local reached = match(state, at + count, stop + 1)
    if reached then return reached end
    count = count - 1
  end
  return nil
end

local function match_least(state, at, item, stop)
  local subject, pattern = state.subject, state.pattern
  while true do
    local reached = match(state, at, stop + 1)
    if reached then return reached end
    if at > #subject or not is_single(byte(subject, at), pattern, item, stop) then return nil end
    at = at + 1
  end
end

local function open_capture(state, at, item, length)
  local level = state.level + 1
  if level > 32 then error('too many captures', 0) end
  state.start[level], state.length[level], state.level = at, length, level
  local reached = match(state, at, item)
  if not reached then state.level = level - 1 end
  return reached
end

local function close_capture(state, at, item)
  local level = capture_to_close(state)
  state.length[level] = at - state.start[level]
  local reached = match(state, at, item)
  if not reached then state.length[level] = -1 end
  return reached
end

local function end_of_class(pattern, item)
  local stop = class_end(pattern, item)
  if stop then return stop end
  if byte(pattern, item) == PERCENT then
    error("malformed pattern (ends with '%')", 0)
  end
  error("malformed pattern (missing ']')", 0)
end

-- The position after what `pattern` from `item` on matches of the subject from `at` on.
function match(state, at, item)
  local subject, pattern = state.subject, state.pattern
  while true do
    local char = byte(pattern, item)
    if not char then return at end
    local following = byte(pattern, item + 1)
    if char == OPEN then
      if following == CLOSE then return open_capture(state, at, item + 2, -2) end
      return open_capture(state, at, item + 1, -1)
    elseif char == CLOSE then
      return close_capture(state, at, item + 1)
    elseif char == DOLLAR and not following then
      return at == #subject + 1 and at or nil
    elseif char == PERCENT and following == LOWER_B then
      at = match_balance(state, at, item + 2)
      if not at then return nil end
      item = item + 4
    elseif char == PERCENT and following == LOWER_F then
      if byte(pattern, item + 2) ~= BRACKET then
        error("missing '[' after '%f' in pattern", 0)
      end
      local stop = end_of_class(pattern, item + 2)
      if not match_frontier(state, at, item + 2, stop) then return nil end
      item = stop
    elseif char == PERCENT and following and following >= 48 and following <= 57 then
      at = match_back_reference(state, at, following)
      if not at then return nil end
      item = item + 2
    else
      local stop = end_of_class(pattern, item)
      local sign = byte(pattern, stop)
      if sign == STAR then return match_most(state, at, item, stop) end
      if sign == MINUS then return match_least(state, at, item, stop) end
      local is_here = at <= #subject and is_single(byte(subject, at), pattern, item, stop)
      if sign == PLUS then
        return is_here and match_most(state, at + 1, item, stop) or nil
      elseif sign == QUESTION then
        if is_here then
          local reached = match(state, at + 1, stop + 1)
          if reached then return reached end
        end
        item = stop + 1
      elseif not is_here then
        return nil
      else
        at, item = at + 1, stop
      end
    end
  end
end

local function new_state(subject, pattern)
  return {subject = subject, pattern = pattern, level = 0, start = {}, length = {}}
end

local function capture(state, level, from, to)
  if level > state.level then
    if level ~= 1 then error('invalid capture index', 0) end
    return sub(state.subject, from, to - 1)
  end
  local length = state.length[level]
  if length == -2 then return state.start[level] end
  if length == -1 then error('unfinished capture', 0) end
  return sub(state.subject, state.start[level], state.start[level] + length - 1)
end

-- The captures of a match, or the whole match if it has none.
local function captures(state, from, to, is_find)
  local list, count = {}, state.level
  if count == 0 and not is_find then count = 1 end
  for level = 1, count do list[level] = capture(state, level, from, to) end
  return list, count
end

-- The first match at or after `at`: from, to (the position after it).
local function first_match(state, at)
  local pattern = state.pattern
  local is_anchored = byte(pattern, 1) == CARET
  while at <= #state.subject + 1 do
    state.level = 0
    local reached = match(state, at, is_anchored and 2 or 1)
    if reached then return at, reached end
    if is_anchored then return nil end
    at = at + 1
  end
  return nil
end

local function start_position(subject, init)
  init = init or 1
  if init < 0 then
    init = #subject + init + 1
    if init < 1 then init = 1 end
  elseif init == 0 then
    init = 1
  end
  if init > #subject + 1 then init = #subject + 1 end
  return init
end

local function slow_find(subject, pattern, init)
  local state = new_state(subject, pattern)
  local from, to = first_match(state, start_position(subject, init))
  if not from then return nil end
  local list, count = captures(state, from, to, true)
  return from, to - 1, unpack(list, 1, count)
end

local function slow_match(subject, pattern, init)
  local state = new_state(subject, pattern)
  local from, to = first_match(state, start_position(subject, init))
  if not from then return nil end
  local list, count = captures(state, from, to)
  return unpack(list, 1, count)
end

local function slow_gmatch(subject, pattern)
  local at = 1
  return function()
    local state = new_state(subject, pattern)
    while at <= #subject + 1 do
      state.level = 0
      local reached = match(state, at, 1)
      if reached then
        local from = at
        at = reached == from and reached + 1 or reached
        local list, count = captures(state, from, reached)
        return unpack(list, 1, count)
      end
      at = at + 1
    end
    return nil
  end
end

local function expand(state, template, from, to)
  return (gsub(template, '%%(.?)', function(digit)
    local code = byte(digit)
    if not code or code < 48 or code > 57 then return digit end
    if code == 48 then return sub(state.subject, from, to - 1) end
    return tostring(capture(state, code - 48, from, to))
  end))
end

local function replacement(state, with, from, to)
  local kind, value = type(with), nil
  if kind == 'string' then return expand(state, with, from, to) end
  local list, count = captures(state, from, to)
  if kind == 'function' then
    value = with(unpack(list, 1, count))
  else
    value = with[list[1]]
  end
  if not value then return sub(state.subject, from, to - 1) end
  kind = type(value)
  if kind ~= 'string' and kind ~= 'number' then
    error('invalid replacement value (a ' .. kind .. ')', 0)
  end
  return value
end

local function slow_gsub(subject, pattern, with, limit)
  local state, pieces, at, count = new_state(subject, pattern), {}, 1, 0
  local is_anchored = byte(pattern, 1) == CARET
  limit = limit or #subject + 1
  while count < limit do
    state.level = 0
    local reached = match(state, at, is_anchored and 2 or 1)
    if reached then
      count = count + 1
      pieces[#pieces + 1] = replacement(state, with, at, reached)
    end
    if reached and reached > at then
      at = reached
    elseif at <= #subject then
      pieces[#pieces + 1] = sub(subject, at, at)
      at = at + 1
    else
      break
    end
    if is_anchored then break end
  end
  pieces[#pieces + 1] = sub(subject, at)
  return concat(pieces), count
end

-- -- what scripts call ---------------------------------------------------------------------------

local function as_text(value)
  local kind = type(value)
  if kind == 'string' then return value end
  if kind == 'number' then return tostring(value) end
  return nil
end

-- Errors that the matcher in Lua raises name the line of the script.
local function finish(ok, ...)
  if ok then return ... end
  local message = ...
  if type(message) ~= 'string' then error(message, 0) end
  error(message, 3)
end

local c_find, c_match, c_gmatch, c_gsub = string.find, string.match, string.gmatch, string.gsub
local pcall = pcall

local function find_plain(text, wanted, init)
  init = start_position(text, init)
  if (#text - init + 1) * #wanted <= WORK_LIMIT then return c_find(text, wanted, init, true) end
  local from = host.find(text, wanted, init - 1)
  if from < 0 then return nil end
  return from + 1, from + #wanted
end

local result = {}

function result.find(...)
  local subject, pattern, init, plain = ...
  local text, wanted = as_text(subject), as_text(pattern)
  if not text or not wanted or (init ~= nil and not tonumber(init)) then
    return (native.fail('find', c_find, ...))
  end
  if #text > 1000 then note_work(#text) end
  if plain or not c_find(wanted, '[%^%$%*%+%?%.%(%[%%%-]') then
    return find_plain(text, wanted, tonumber(init))
  end
  if is_cheap(#text, wanted) then return finish(pcall(c_find, text, wanted, init)) end
  return finish(pcall(slow_find, text, wanted, tonumber(init)))
end

function result.match(...)
  local subject, pattern, init = ...
  local text, wanted = as_text(subject), as_text(pattern)
  if not text or not wanted or (init ~= nil and not tonumber(init)) then
    return (native.fail('match', c_match, ...))
  end
  if #text > 1000 then note_work(#text) end
  if is_cheap(#text, wanted) then return finish(pcall(c_match, text, wanted, init)) end
  return finish(pcall(slow_match, text, wanted, tonumber(init)))
end

function result.gmatch(...)
  local subject, pattern = ...
  local text, wanted = as_text(subject), as_text(pattern)
  if not text or not wanted then return (native.fail('gmatch', c_gmatch, ...)) end
  if #text > 1000 then note_work(#text) end
  if is_cheap(#text, wanted) then return c_gmatch(text, wanted) end
  return slow_gmatch(text, wanted)
end

function result.gsub(...)
  local subject, pattern, with, limit = ...
  local text, wanted, kind = as_text(subject), as_text(pattern), type(with)
  if kind == 'number' then with, kind = tostring(with), 'string' end
  local is_usable = kind == 'string' or kind == 'function' or kind == 'table'
  if not text or not wanted or not is_usable or (limit ~= nil and not tonumber(limit)) then
    return (native.fail('gsub', c_gsub, ...))
  end
  if #text > 1000 then note_work(#text) end
  if is_cheap(#text, wanted) then
    return finish(pcall(c_gsub, text, wanted, with, limit))
  end
  return finish(pcall(slow_gsub, text, wanted, with, tonumber(limit)))
end

return result
