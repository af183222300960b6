// The token of the store's user, which the cluster gives for the password and forgets after a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/stores/etcd/src/gateway.hpp"
#include "member_link.hpp"

namespace tenure::etcd_store {

/// Thread-safe.
class UserToken : public std::enable_shared_from_this<UserToken> {
 public:
  /// How long an authentication may take. It serves all that wait, so it does not end with the call that began it.
  static constexpr std::chrono::seconds patience{5};

  /// An empty user needs no token.
  UserToken(MemberLinkPtr members, std::string user, std::string passwordFile);

  struct Shown {
    std::string text{};       ///< empty: none is needed
    std::uint64_t number{0};  ///< tells it from earlier ones
  };
  using Continuation = std::function<void(StoreResult<Shown>)>;
  /// Goes on at once if there is a token or none is needed, else on a thread of the gateway, with a fault at the
  /// deadline. One authentication serves all who wait for it: it costs the server much time.
  void whenKnown(std::chrono::nanoseconds deadline, Continuation goOn);

  /// Whether the request that had this token was refused unread because of it.
  [[nodiscard]] bool isRefused(const Shown& shown, int status, std::string_view body) const;
  /// The server does not take this token (any more).
  void forget(std::uint64_t number);

 private:
  struct Waiting {
    std::uint64_t number;
    Continuation goOn;
  };

  void expire(std::uint64_t waiting, std::chrono::nanoseconds left);
  void timeOut(std::uint64_t waiting);
  void authenticate();
  void judge(const Outcome& outcome);
  void finish(StoreResult<std::string> token);

  const MemberLinkPtr members_;
  const std::string user_;
  const std::string passwordFile_;
  const std::shared_ptr<Scheduler> scheduler_;  ///< for those who wait too long

  std::mutex mutex_;  ///< guards what follows
  bool known_{false};
  Shown token_{};
  bool authenticating_{false};
  std::uint64_t lastWaiting_{0};
  std::vector<Waiting> waiting_{};
};

}  // namespace tenure::etcd_store
