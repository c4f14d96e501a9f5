"""The checks of guards.py as Lua scripts: check and write are one atomic step.

IDs are compared as text, by length and then by bytes: Lua numbers have only 53 bits.
"""

from __future__ import annotations

PRELUDE = """
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local function before(one, other)
  local ms, seq = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_seq = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= other_ms then return less(ms, other_ms) end
  return less(seq, other_seq)
end
local function named(reply, name)
  for position = 1, #reply, 2 do
    if reply[position] == name then return reply[position + 1] end
  end
end
local function has(id, hash)
  local found = redis.call('XRANGE', KEYS[1], id, id)[1]
  if not found then return false end
  local parts = {}
  for position, word in ipairs(found[2]) do parts[position] = #word .. ':' .. word end
  return redis.sha1hex(table.concat(parts)) == hash
end
local function any(first, last)
  return redis.call('XRANGE', KEYS[1], first, last, 'COUNT', 1)[1] ~= nil
end
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'stream' then return 'missing' end
local groups = redis.call('XINFO', 'GROUPS', KEYS[1])
local positions = {}
for _, group in ipairs(groups) do
  positions[named(group, 'name')] = named(group, 'last-delivered-id')
end
local marker = positions[ARGV[1]]
"""

# Arguments: marker, expected position or '', last archived entry and its hash or '', the ID after
# it, the new position, entries read or '', old anchor and its hash or '', old end; then the markers
# of other epochs, each with its position or ''.
MOVE_MARKER = (
    PRELUDE
    + """
if (marker or '') ~= ARGV[2] then return 'marker' end
for n = 11, #ARGV, 2 do
  if (positions[ARGV[n]] or '') ~= ARGV[n + 1] then return 'marker' end
end
if ARGV[4] ~= '' and not has(ARGV[3], ARGV[4]) then return 'anchor' end
if before(ARGV[3], ARGV[6]) and any(ARGV[5], ARGV[6]) then return 'entry' end
if before(named(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id'), ARGV[6]) then
  return 'end'
end
if ARGV[9] ~= '' then
  if not has(ARGV[8], ARGV[9]) and any('-', ARGV[10]) then return 'old anchor' end
elseif any('-', ARGV[10]) then
  return 'old anchor'
end
local words = {KEYS[1], ARGV[1], ARGV[6]}
if ARGV[7] ~= '' then
  words[4], words[5] = 'ENTRIESREAD', ARGV[7]
end
redis.call('XGROUP', marker and 'SETID' or 'CREATE', unpack(words))
return 'OK'
"""
)

# Arguments: marker, its position, anchor and its hash, the first ID to keep, the ID before it, the
# number of entries that ACKED may examine or 0, ignored groups.
TRIM = (
    PRELUDE
    + """
if marker ~= ARGV[2] then return 'marker' end
if not has(ARGV[3], ARGV[4]) then return 'anchor' end
if before(ARGV[3], ARGV[5]) or before(ARGV[2], ARGV[3]) then return 'anchor' end
if ARGV[7] ~= '0' then
  return redis.call('XTRIM', KEYS[1], 'MINID', '~', ARGV[5], 'LIMIT', ARGV[7], 'ACKED')
end
local ignored = {}
for position = 8, #ARGV do ignored[ARGV[position]] = true end
for _, group in ipairs(groups) do
  local name = named(group, 'name')
  if not ignored[name] then
    if before(named(group, 'last-delivered-id'), ARGV[6]) then return 'group' end
    local oldest = redis.call('XPENDING', KEYS[1], name)[2]
    if oldest and before(oldest, ARGV[5]) then return 'group' end
  end
end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', ARGV[5])
"""
)
