#include <string_view>
#include <utility>

#include <tenure/adapters/redis_fence.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "answers.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure {

using redis_fence::call;
using redis_fence::Reply;
using redis_fence::textOf;

namespace {

constexpr std::size_t mostWords = 4'000;  // Lua's stack takes somewhat less than 8,000

/// KEYS: the token's hash, then the data's keys. ARGV: token, holder, lease, the call's mark, the number of commands;
/// then for each command the number of its words, and the words. The answer is a word, the mark, and what belongs to
/// the word: stale, foreign (token, holder), damaged (text), failed (the number of the command, Redis's message), done
/// (one reply for each command).
///
/// The token is written behind the first command, so that a write whose first command is refused leaves none. The lease
/// is written before it: if this user or server may not write to the hash, no command has run.
///
/// Tokens are compared as decimal texts, of which a longer one is greater. This also works for a token that is too
/// great to be one, which Lua's numbers could not distinguish from others. Each reply has the call's own mark in its
/// second place, by which it is distinguished from the reply to another command.
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
local known = token == mine and owner == holder
if not known then redis.call('HSET', KEYS[1], 'lease', ARGV[3]) end
local function remember()
  if not known then redis.call('HSET', KEYS[1], 'token', mine, 'holder', holder) end
  known = true
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
  remember()
  out[#out + 1] = reply
end
remember()
return out
)lua";

/// A line `name:value` of INFO.
std::string infoValue(const std::string& info, std::string_view name) {
  const std::string line = '\n' + std::string{name} + ':';
  const std::size_t at = ('\n' + info).find(line);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + line.size() - 1;
  return info.substr(begin, info.find('\r', begin) - begin);
}

std::string freshMark() {
  SystemRandom random;
  return hex128(random);
}

}  // namespace

class RedisFence::Impl {
 public:
  Impl(redisContext* connection, RedisFenceOptions options)
      : connection_{connection}, options_{std::move(options)}, where_{nameOf(*connection)} {}

  [[nodiscard]] std::optional<FenceError> open();
  [[nodiscard]] FenceResult<RedisReplies> write(const TermStamp& stamp, const RedisWrite& what);
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  [[nodiscard]] static std::string nameOf(const redisContext& connection) {
    if (connection.connection_type == REDIS_CONN_UNIX) return std::string{"redis "} + connection.unix_sock.path;
    if (connection.tcp.host == nullptr) return "redis fd " + std::to_string(connection.fd);  // redisConnectFd
    return std::string{"redis "} + connection.tcp.host + ':' + std::to_string(connection.tcp.port);
  }
  [[nodiscard]] std::string keyOf(const std::string& lease) const {
    return options_.prefix + (options_.hashTag.empty() ? "" : '{' + options_.hashTag + "}:") + lease;
  }
  [[nodiscard]] FenceError misconfigured(const std::string& text) const {
    return fenceError({ErrorClass::misconfigured, where_ + ": " + text});
  }
  [[nodiscard]] FenceError broken(bool mayBeWritten) const {
    return fenceError({ErrorClass::transient, where_ + ": the connection broke (" + connection_->errstr +
                                                  "); connect again and open another fence"},
                      mayBeWritten);
  }
  [[nodiscard]] std::optional<FenceError> checkServer();
  [[nodiscard]] std::optional<FenceError> loadScript();
  [[nodiscard]] std::string place(const std::string& lease) const {
    return where_ + ", key " + toString(LeaseKey{keyOf(lease)});
  }
  [[nodiscard]] Reply run(const TermStamp& stamp, const RedisWrite& what, const std::string& mark);
  [[nodiscard]] std::optional<FenceError> waitForReplicas();

  redisContext* connection_;
  const RedisFenceOptions options_;
  const std::string where_;
  std::string sha_{};
  const std::string mark_{freshMark()};  // each fence has its own, and counts its calls, so no answer fits another call
  std::uint64_t calls_{0};
};

std::optional<FenceError> RedisFence::Impl::open() {
  if (connection_->err != 0) return broken(false);
  if (options_.hashTag.find_first_of("{}") != std::string::npos || options_.prefix.find('{') != std::string::npos) {
    return misconfigured("a hash tag is given without braces, and the prefix has none");
  }
  if (options_.waitReplicas > 0 && options_.waitTimeout.count() <= 0) {
    return misconfigured("waitTimeout must be greater than 0, which Redis takes for no limit");
  }
  if (auto error = checkServer()) return error;
  return loadScript();
}

std::optional<FenceError> RedisFence::Impl::checkServer() {
  const Reply info = call(connection_, {"INFO"});
  if (!info) return broken(false);
  // If this user may not ask INFO, its operator is responsible for these settings.
  const bool isTold = info->type != REDIS_REPLY_ERROR;  // in RESP3 the text has a type of its own
  const std::string text = isTold ? textOf(*info) : "";
  if (infoValue(text, "maxmemory_policy").starts_with("allkeys-")) {
    return misconfigured(
        "its maxmemory-policy evicts any key when memory is short, the fence's tokens too; use noeviction or "
        "volatile-*");
  }
  if (options_.requireAppendOnly && !isTold) {
    return misconfigured("INFO does not say whether it writes an append-only file: " + textOf(*info) +
                         "; give the user the right to INFO");
  }
  if (options_.requireAppendOnly && infoValue(text, "aof_enabled") != "1") {
    return misconfigured("it writes no append-only file, so a crash forgets writes and tokens; set appendonly yes");
  }
  return std::nullopt;
}

std::optional<FenceError> RedisFence::Impl::loadScript() {
  const Reply loaded = call(connection_, {"SCRIPT", "LOAD", script});
  if (!loaded) return broken(false);
  if (loaded->type != REDIS_REPLY_STRING) return redis_fence::errorOf(where_, textOf(*loaded), false);
  sha_ = textOf(*loaded);
  return std::nullopt;
}

Reply RedisFence::Impl::run(const TermStamp& stamp, const RedisWrite& what, const std::string& mark) {
  std::vector<std::string> words{"EVALSHA", sha_, std::to_string(what.keys.size() + 1), keyOf(stamp.lease)};
  words.insert(words.end(), what.keys.begin(), what.keys.end());
  words.insert(words.end(),
               {toString(stamp.token), stamp.holder, stamp.lease, mark, std::to_string(what.commands.size())});
  for (const RedisCommand& command : what.commands) {
    words.push_back(std::to_string(command.size()));
    words.insert(words.end(), command.begin(), command.end());
  }
  Reply reply = call(connection_, words);
  if (reply && reply->type == REDIS_REPLY_ERROR && textOf(*reply).starts_with("NOSCRIPT")) {
    // Nothing ran: the server was restarted, or somebody deleted its scripts.
    words[0] = "EVAL";
    words[1] = script;
    reply = call(connection_, words);
  }
  return reply;
}

FenceResult<RedisReplies> RedisFence::Impl::write(const TermStamp& stamp, const RedisWrite& what) {
  if (auto error = errorOf(stamp)) return *std::move(error);
  for (const RedisCommand& command : what.commands) {
    if (command.empty() || command.size() > mostWords) {
      return misconfigured("a command has 1 to 4,000 words, not " + std::to_string(command.size()));
    }
    // It would change the database in the middle of the script, and the token would be written to another than is read.
    if (sameText(command.front(), "SELECT")) {
      return misconfigured("SELECT is refused in a fenced write; select the database on the connection before");
    }
  }
  if (connection_->err != 0) return broken(false);
  const std::string mark = mark_ + ':' + std::to_string(++calls_);
  const Reply reply = run(stamp, what, mark);
  if (!reply) return broken(true);
  auto judged = redis_fence::judge({where_, place(stamp.lease), mark, what.commands.size()}, stamp, *reply);
  if (!judged || options_.waitReplicas <= 0) return judged;
  if (auto error = waitForReplicas()) return *std::move(error);
  return judged;
}

std::optional<FenceError> RedisFence::Impl::waitForReplicas() {
  const Reply reply =
      call(connection_, {"WAIT", std::to_string(options_.waitReplicas), std::to_string(options_.waitTimeout.count())});
  if (!reply) return broken(true);
  if (reply->type == REDIS_REPLY_ERROR) {
    return redis_fence::errorOf(where_ + ": the write is done, but how many replicas have it is not known",
                                textOf(*reply), true);
  }
  if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= options_.waitReplicas) return std::nullopt;
  return fenceError(
      {ErrorClass::transient, where_ + ": the write is done, but fewer than " + std::to_string(options_.waitReplicas) +
                                  " replicas have it; a failover now may lose it"},
      true);
}

FenceResult<std::optional<TermStamp>> RedisFence::Impl::highestSeen(const std::string& lease) {
  if (connection_->err != 0) return broken(false);
  const Reply reply = call(connection_, {"HMGET", keyOf(lease), "token", "holder"});
  if (!reply) return broken(false);
  return redis_fence::seenIn({where_, place(lease), {}, 0}, lease, *reply);
}

FenceResult<RedisFence> RedisFence::open(redisContext* connection, RedisFenceOptions options) {
  if (connection == nullptr) return fenceError({ErrorClass::transient, "redis: there is no connection"});
  auto impl = std::make_unique<Impl>(connection, std::move(options));
  if (auto error = impl->open()) return *std::move(error);
  return RedisFence{std::move(impl)};
}

RedisFence::RedisFence(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
RedisFence::~RedisFence() = default;
RedisFence::RedisFence(RedisFence&&) noexcept = default;
RedisFence& RedisFence::operator=(RedisFence&&) noexcept = default;

FenceResult<RedisReplies> RedisFence::write(const TermStamp& stamp, const RedisWrite& what) {
  return impl_->write(stamp, what);
}
FenceResult<std::optional<TermStamp>> RedisFence::highestSeen(const std::string& lease) {
  return impl_->highestSeen(lease);
}

}  // namespace tenure
