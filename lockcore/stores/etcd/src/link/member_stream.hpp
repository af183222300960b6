// A stream from one member, from the moment when it is asked for.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/stores/etcd/src/gateway.hpp"
#include "member_link.hpp"
#include "user_token.hpp"

namespace tenure::etcd_store {

/// Shared by the user's handle and what works for it. While the token is asked for, there is no stream yet.
class MemberStream : public std::enable_shared_from_this<MemberStream> {
 public:
  /// How long a member may take to accept it.
  static constexpr std::chrono::seconds patience{5};

  MemberStream(MemberLinkPtr members, std::shared_ptr<UserToken> user, StreamHandlers handlers);

  void open(net::HttpRequest request, std::chrono::nanoseconds silence);
  /// Nothing is called any more. Waits for a handler that runs on another thread.
  void end();

 private:
  void begin(const UserToken::Shown& token, net::HttpRequest request, std::chrono::nanoseconds silence);
  void line(std::size_t member, std::string_view text);
  [[nodiscard]] std::string whyEnded(std::size_t member, const UserToken::Shown& token,
                                     const net::HttpOutcome& outcome);
  void tellEnd(const std::string& why);

  const MemberLinkPtr members_;
  const std::shared_ptr<UserToken> user_;
  const StreamHandlers handlers_;
  CallPermit permit_{};
  bool begun_{false};  ///< a line has come; used on the client's thread only
  std::mutex mutex_{};
  bool gone_{false};                ///< guarded by the mutex, as the next one
  std::shared_ptr<void> stream_{};  ///< keeps this object; end() breaks the circle
};

}  // namespace tenure::etcd_store
