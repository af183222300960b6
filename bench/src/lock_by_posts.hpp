// The floor of a lock on DynamoDB: the requests that cannot be done without, posted with nothing but Boost.Beast.
#pragma once

#include <memory>
#include <string>

namespace tenure::bench {

/// A lock of one transaction (take it, on the condition that it is free, and count the term) and one update (give it
/// back), on the caller's own thread over one kept-alive connection. The endpoint is a DynamoDB Local, which checks no
/// signature. Throws std::runtime_error for everything but success.
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
