// The least that a lock on DynamoDB can cost: the requests that every lock needs, posted with nothing but Boost.Beast.
#pragma once

#include <memory>
#include <string>

namespace tenure::bench {

/// A lock of two requests, on the caller's own thread over one kept-alive connection. One transaction takes the lock,
/// on the condition that it is free, and counts the term. One update gives it back. The endpoint is a DynamoDB on this
/// machine, which checks no signature. Throws std::runtime_error for everything but success.
class LockByPosts {
 public:
  /// `http://HOST:PORT`; makes the table and the lock in it.
  LockByPosts(const std::string& endpoint, std::string table);
  ~LockByPosts();
  LockByPosts(const LockByPosts&) = delete;
  LockByPosts& operator=(const LockByPosts&) = delete;

  void roundTrip();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::bench
