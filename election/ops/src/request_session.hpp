// One connection of a client: reads requests, one after the other, and answers each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/http_listener.hpp>

#include "answers.hpp"
#include "io.hpp"
#include "listen_socket.hpp"

namespace tenure::ops {

class RequestSession : public std::enable_shared_from_this<RequestSession> {
 public:
  /// The most bytes of a request's header.
  static constexpr std::size_t headerBytes = 8U << 10U;

  /// How often a stream looks for events.
  static constexpr std::chrono::milliseconds eventPeriod{100};
  /// Whether this session may stream events; if so, it is no longer one of those that take the places of others.
  using Admit = std::function<bool(const std::shared_ptr<RequestSession>&)>;

  /// `options`, `listener` and `electors` must outlive the session.
  RequestSession(Socket socket, const ListenerOptions& options, const ListenAddress& listener,
                 WatchedElectors& electors, Admit admit)
      : socket_{std::move(socket)},
        options_{options},
        listener_{listener},
        electors_{electors},
        admit_{std::move(admit)},
        connectedTo_{arrivedAt(socket_.native_handle())},
        timer_{socket_.get_executor()} {}

  [[nodiscard]] Task<void> run();

  /// Since when it waits for its client: for a request to be complete, or for its answer to be taken.
  [[nodiscard]] const Instant& waitsSince() const noexcept { return waitsSince_; }
  /// It waits for a request of which nothing has arrived.
  [[nodiscard]] bool isIdle() const noexcept;
  /// Ends it, whatever it does.
  void end() noexcept;

 private:
  using Parser = http::request_parser<http::empty_body>;
  [[nodiscard]] Task<bool> awaitFirstByte();
  [[nodiscard]] Task<bool> serveOne();
  [[nodiscard]] bool isForUs(const http::request_header<>& request) const;
  [[nodiscard]] Task<bool> send(std::string message);
  [[nodiscard]] Task<bool> stream(std::string head, std::optional<std::uint64_t> after, std::string group);
  [[nodiscard]] bool clientHasLeft() noexcept;
  [[nodiscard]] Task<void> closeGently();
  void limit(std::chrono::milliseconds time);

  Socket socket_;
  const ListenerOptions& options_;
  const ListenAddress& listener_;
  WatchedElectors& electors_;
  const Admit admit_;
  const std::string connectedTo_;
  Timer timer_;
  std::uint64_t timerTurn_{0};
  bool timedOut_{false};
  bool served_{false};
  bool awaits_{false};  ///< the first byte of a request
  Instant waitsSince_{readClock()};
  beast::flat_buffer buffer_{2 * headerBytes};
};

}  // namespace tenure::ops
