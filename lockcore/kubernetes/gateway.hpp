// What the store asks of an API server: single requests, and one stream of lines. link/ implements it over HTTP; a
// simulation may implement it in memory.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "lockcore/net/call_fault.hpp"

namespace tenure::kubernetes_store {

struct Request {
  std::string method{};
  std::string target{};  ///< path and query
  std::string body{};
  /// It can wait: while the server asks for patience (429 with Retry-After), it is not sent. What a holder asks cannot.
  bool yields{false};
  std::string contentType{"application/json"};  ///< of the body
  bool lists{false};                            ///< the reply has many objects
};

/// The server answered, possibly with a rejection.
struct Reply {
  int status{0};
  std::string body{};
};

using net::CallFault;
using Outcome = boost::system::result<Reply, CallFault>;
using OutcomeHandler = std::function<void(Outcome)>;

/// How a stream ended. `status` is that of a server that did not accept it, with its body; 0: there was none, or it was
/// accepted.
struct Ending {
  int status{0};
  std::string body{};
  std::string why{};        ///< for people
  bool lineTooLong{false};  ///< the same line comes again where a stream goes on from there
};

/// Gets what a stream brings. Called on a thread of the gateway, one call at a time. The functions must not block.
struct StreamHandlers {
  std::function<void(std::string_view line)> onLine{};
  std::function<void(Ending)> onEnd{};  ///< the last call
};

class Gateway {
 public:
  virtual ~Gateway() = default;

  /// Returns at once. The handler is called exactly once, on a thread of the gateway, never inside the call; with a
  /// fault if the gateway is destroyed first. One attempt; a 401, which proves that the request was not carried out, is
  /// followed by a second one within the same time if the user's token has been changed meanwhile.
  virtual void call(Request request, std::chrono::nanoseconds timeout, OutcomeHandler handler) = 0;

  /// GET of `target`, whose reply is a stream of lines (empty ones are left out). It ends when a line is too long, when
  /// nothing has come for `silence`, when the server ends it, or when the returned handle is destroyed; after that
  /// destruction nothing is called any more.
  [[nodiscard]] virtual std::shared_ptr<void> stream(std::string target, std::chrono::nanoseconds silence,
                                                     StreamHandlers handlers) = 0;

  /// `https://10.0.0.1:443`. No secrets.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tenure::kubernetes_store
