// Calls of Redis through hiredis, and what their replies say.
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
/// An element of an array; empty if it is nil or not a string, or if the array is shorter.
[[nodiscard]] std::optional<std::string> elementOf(const redisReply& reply, std::size_t index);

/// The error that Redis's reply `ERROR_CODE message` stands for. `where` names the server. `mayBeWritten`: the caller
/// cannot tell whether the command ran.
[[nodiscard]] FenceError troubleOf(const std::string& where, const std::string& message, bool mayBeWritten);

}  // namespace tenure::redis_fence
