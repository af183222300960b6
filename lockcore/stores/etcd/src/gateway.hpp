// What the store asks of a cluster: JSON requests to whichever member answers, and one stream of lines.
// link/ implements it over HTTP; the simulation implements it in memory.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "lockcore/net/call_fault.hpp"

namespace tenure::etcd_store {

/// A member answered, possibly with an error of its own (status 400 and above).
struct Reply {
  int status{0};
  std::string body{};
  std::string member{};  ///< its URL, for messages
  /// A copy of the request went to another member before and was not answered: it may have been carried out, or may
  /// still be.
  bool copiesOut{false};
};

using net::CallFault;
using Outcome = boost::system::result<Reply, CallFault>;
using OutcomeHandler = std::function<void(Outcome)>;

/// Gets what a stream brings. Called on a thread of the gateway, one call at a time. The functions must not block.
struct StreamHandlers {
  std::function<void(std::string_view line)> onLine{};
  /// The last call: the stream has ended, or was not accepted. `why` is for people.
  std::function<void(std::string why)> onEnd{};
};

class Gateway {
 public:
  virtual ~Gateway() = default;

  /// POST to `path` ("/v3/kv/txn"). Returns at once. The handler is called exactly once, on a thread of the gateway,
  /// never inside the call; with a fault if the gateway is destroyed first. A member that has not answered within a
  /// part of the time is left for the next one: a request that may be repeated goes there too, any other one only if
  /// no byte of it has left this process. An answer is a result only if it names the cluster. Any other answer may be
  /// that of one member alone, or of something in its place, so a request that may be repeated goes to the next member.
  /// A reply that proves that a member refused the request unread because of the user's token (401, code 16) is
  /// followed by a new authentication and one further request within the same time.
  enum class Repeat { no, yes };
  virtual void call(std::string_view path, std::string body, std::chrono::nanoseconds timeout, Repeat repeat,
                    OutcomeHandler handler) = 0;

  /// POST to `path` whose reply is a stream of JSON objects, one a line (empty lines are left out). It ends when a
  /// line is too long, when nothing has come for `silence`, when the member ends it, or when the returned handle is
  /// destroyed; after that destruction nothing is called any more.
  [[nodiscard]] virtual std::shared_ptr<void> stream(std::string_view path, std::string body,
                                                     std::chrono::nanoseconds silence, StreamHandlers handlers) = 0;

  /// `https://etcd1:2379, https://etcd2:2379`. No secrets.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tenure::etcd_store
