// The two writes that `fence` compares on Redis.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/fence.hpp>

namespace tenure::bench {

/// One entry of a list, on a Redis of its own that syncs its append-only file before each answer and ends with the
/// object.
class RedisWrites {
 public:
  /// The server's files lie in `directory`. Throws if it does not come up.
  RedisWrites(const std::string& directory, TermStamp stamp);
  ~RedisWrites();
  RedisWrites(const RedisWrites&) = delete;
  RedisWrites& operator=(const RedisWrites&) = delete;

  void bare();
  void fenced();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::bench
