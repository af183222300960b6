#include "script.hpp"

namespace tenure::redis_fence {

// Tokens are compared as decimal texts, of which a longer one is greater. This also works for a token that is too great
// to be one, which Lua's numbers could not distinguish from others. Each reply has the call's own mark in its second
// place, by which it is distinguished from the reply to another command.
const char* const script = R"lua(
local function less(a, b) return #a < #b or (#a == #b and a < b) end
local mine, holder, mark = ARGV[1], ARGV[2], ARGV[4]
local seen = redis.call('HMGET', KEYS[1], 'token', 'holder')
local token, owner = seen[1], seen[2] or ''
if token then
  if not string.match(token, '^[1-9]%d*$') or less('9007199254740991', token) then return {'damaged', mark, token} end
  if less(mine, token) then return {'stale', mark, token, owner} end
  if mine == token and owner ~= '' and owner ~= holder then return {'foreign', mark, token, owner} end
end
if token ~= mine or owner ~= holder then
  redis.call('HSET', KEYS[1], 'lease', ARGV[3], 'token', mine, 'holder', holder)
end
local out = {'done', mark}
local at = 6
for i = 1, tonumber(ARGV[5]) do
  local words = tonumber(ARGV[at])
  local reply = redis.pcall(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
  if type(reply) == 'table' then
    if reply.err then return {'failed', mark, tostring(i), reply.err} end
    reply = reply.ok or cjson.encode(reply)
  elseif type(reply) == 'number' then
    reply = string.format('%.0f', reply)
  end
  out[#out + 1] = reply
end
return out
)lua";

}  // namespace tenure::redis_fence
