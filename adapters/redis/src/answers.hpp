// Calls of Redis through hiredis, and what the replies mean.
#pragma once

#include <cstddef>
#include <hiredis/hiredis.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/adapters/redis_fence.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure::redis_fence {

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// Null if the connection broke; it cannot be used any more then.
[[nodiscard]] Reply call(redisContext* connection, const std::vector<std::string>& words);

[[nodiscard]] std::string textOf(const redisReply& reply);
/// An element of an array; empty if it is nil or not a string, or if the array is shorter.
[[nodiscard]] std::optional<std::string> elementOf(const redisReply& reply, std::size_t index);

/// The error that Redis's reply `ERROR_CODE message` stands for. `where` names the server. `mayBeWritten`: the caller
/// cannot tell whether the command ran.
[[nodiscard]] FenceError errorOf(const std::string& where, const std::string& message, bool mayBeWritten);

/// What an answer is compared with.
struct Asked {
  std::string server;  ///< for people
  std::string key;     ///< the server and the key of the token, for people
  std::string mark;    ///< the mark of this call, which each answer of the script has in its second place
  std::size_t commands{0};
};

/// A success is `done`, this call's mark, and one answer for each command; nothing else is a success. An answer that
/// the script cannot have given proves neither that it ran nor that it did not.
[[nodiscard]] FenceResult<RedisReplies> judge(const Asked& asked, const TermStamp& stamp, const redisReply& reply);

/// The term in the answer to HMGET: empty only if the answer says nil for the token.
[[nodiscard]] FenceResult<std::optional<TermStamp>> seenIn(const Asked& asked, const std::string& lease,
                                                           const redisReply& reply);

}  // namespace tenure::redis_fence
