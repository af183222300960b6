// Answers of hiredis.
#pragma once

#include <hiredis/hiredis.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/fence.hpp>

namespace tenure::redis_fence {

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// Null if the connection broke; it cannot be used any more then.
[[nodiscard]] Reply call(redisContext* connection, const std::vector<std::string>& words);

[[nodiscard]] std::string textOf(const redisReply& reply);
/// An element of an array; empty for nil, for an element that is no text, and beyond the end.
[[nodiscard]] std::optional<std::string> elementOf(const redisReply& reply, std::size_t index);

/// What `ERROR_CODE message` means. `where` names the server.
[[nodiscard]] FenceError troubleOf(const std::string& where, const std::string& message, bool mayBeWritten);

}  // namespace tenure::redis_fence
