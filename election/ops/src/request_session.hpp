// One connection of a client: reads requests, one after the other, and answers each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <tenure/ops/http_listener.hpp>

#include "answers.hpp"
#include "io.hpp"

namespace tenure::ops {

class RequestSession : public std::enable_shared_from_this<RequestSession> {
 public:
  /// The rest of an answer that is too large for it is not sent: the parser refuses larger headers with 431.
  static constexpr std::size_t headerBytes = 8U << 10U;

  /// `options` and `electors` must outlive the session. `number` rises from session to session.
  RequestSession(Socket socket, const ListenerOptions& options, WatchedElectors& electors)
      : socket_{std::move(socket)}, options_{options}, electors_{electors}, timer_{socket_.get_executor()} {}

  [[nodiscard]] Task<void> run();

  /// Rises each time that this session begins to wait for a request, over all sessions; 0: it answers one just now.
  [[nodiscard]] std::uint64_t waitsSince() const noexcept { return waitsSince_; }
  /// Ends it, whatever it does.
  void end() noexcept;

 private:
  using Parser = http::request_parser<http::empty_body>;
  [[nodiscard]] Task<bool> awaitFirstByte();
  [[nodiscard]] Task<bool> serveOne();
  [[nodiscard]] Task<bool> send(std::string message);
  [[nodiscard]] Task<void> closeGently();
  void limit(std::chrono::milliseconds time);

  Socket socket_;
  const ListenerOptions& options_;
  WatchedElectors& electors_;
  Timer timer_;
  std::uint64_t timerTurn_{0};
  bool timedOut_{false};
  bool served_{false};
  std::uint64_t waitsSince_{0};
  beast::flat_buffer buffer_{2 * headerBytes};
};

}  // namespace tenure::ops
