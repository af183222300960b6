#include "script.hpp"

namespace tenure::redis_fence {

// Lua's numbers are doubles and would take 2^53 and 2^53 + 1 for one: tokens are compared as the decimal texts that
// they are, of which a longer one is the greater.
const char* const script = R"lua(
local function less(a, b) return #a < #b or (#a == #b and a < b) end
local mine, holder = ARGV[1], ARGV[2]
local seen = redis.call('HMGET', KEYS[1], 'token', 'holder')
local token, owner = seen[1], seen[2] or ''
if token then
  if not string.match(token, '^[1-9]%d*$') then return {'corrupt', token} end
  if less(mine, token) then return {'stale', token, owner} end
  if mine == token and owner ~= '' and owner ~= holder then return {'foreign', token, owner} end
end
if token ~= mine or owner ~= holder then
  redis.call('HSET', KEYS[1], 'lease', ARGV[3], 'token', mine, 'holder', holder)
end
local out = {'done'}
local at = 5
for i = 1, tonumber(ARGV[4]) do
  local words = tonumber(ARGV[at])
  local reply = redis.pcall(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
  if type(reply) == 'table' then
    if reply.err then return {'failed', tostring(i), reply.err} end
    reply = reply.ok or cjson.encode(reply)
  elseif type(reply) == 'number' then
    reply = string.format('%.0f', reply)
  end
  out[#out + 1] = reply
end
return out
)lua";

}  // namespace tenure::redis_fence
