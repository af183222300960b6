// A Redis of the test's own, with its own process, directory and socket.
#pragma once

#include <hiredis/hiredis.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/launched_process.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {

struct FreeRedis {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
};
using RedisConnection = std::unique_ptr<redisContext, FreeRedis>;

/// Throws if nobody answers.
[[nodiscard]] RedisConnection connectRedis(const std::string& socket);

/// Integers and statuses as text, the elements of arrays in order; throws on errors.
std::vector<std::string> askRedis(redisContext& connection, const std::vector<std::string>& words);

class RedisServer {
 public:
  /// Writes an append-only file before each answer.
  RedisServer() { start(); }
  ~RedisServer() { kill(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] std::string socket() const { return directory_.file("redis.sock"); }
  void start();
  /// SIGKILL.
  void kill();

 private:
  const TempDir directory_;
  std::optional<LaunchedProcess> process_{};
};

}  // namespace tenure::test
