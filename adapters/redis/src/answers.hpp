// What the script's answer means. Pure.
#pragma once

#include <cstddef>
#include <string>

#include <tenure/adapters/redis_fence.hpp>

#include "reply.hpp"

namespace tenure::redis_fence {

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
