// The two writes that `fence` compares on Redis.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/fence.hpp>

namespace tenure::bench {

/// Writes one entry of a list, on a Redis of its own. The server syncs its append-only file before each answer and ends
/// with the object.
class RedisWrites {
 public:
  /// The server's files are in `directory`. Throws if the server does not start.
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
