// A client's connection, on which one request follows the other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/clock.hpp>

#include "exchange.hpp"
#include "io.hpp"
#include "shared.hpp"

namespace tenure::gateway {

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `client`: its address, for the log. `group`: with whom it shares what one client may have (ClientTable::groupOf).
  Session(Stream stream, Shared& shared, std::string client, std::string group)
      : stream_{std::move(stream)},
        shared_{shared},
        client_{std::move(client)},
        group_{std::move(group)},
        buffer_{shared.settings.limits.headerBytes + beyondHeader} {}

  /// Runs until the connection ends.
  [[nodiscard]] Task<void> run();
  /// Makes the request under way the last one.
  void stop();

  /// Since when this connection has been waiting for the next request, or for the rest of its header; empty: a request
  /// is being served.
  [[nodiscard]] std::optional<Instant> silentSince() const noexcept { return stopping_ ? std::nullopt : silentSince_; }
  /// Closes the connection, which is silent.
  void makeRoom();
  /// Ends a request under way that needs no token.
  void endIfUnfenced();
  /// Whether a request with a token is under way.
  [[nodiscard]] bool isFenced() const noexcept;

 private:
  struct Waiting;

  [[nodiscard]] Task<bool> waitForRequest();
  [[nodiscard]] Task<bool> handleOne();
  [[nodiscard]] Task<bool> forward(RequestParser& parser);
  [[nodiscard]] Task<std::optional<std::string>> readBody(RequestParser& parser, HeldBytes& held);
  [[nodiscard]] Task<HttpVerdict> admit(const RequestParser& parser, const std::string* body);
  [[nodiscard]] Task<bool> refuse(RequestParser& parser, const HttpProblem& problem);
  [[nodiscard]] Task<bool> refuseAndClose(const HttpProblem& problem);
  [[nodiscard]] Task<bool> discardBody(RequestParser& parser);
  [[nodiscard]] Task<void> closeGently();

  Stream stream_;
  Shared& shared_;
  const std::string client_;
  const std::string group_;
  beast::flat_buffer buffer_;
  std::optional<Instant> silentSince_{};
  Exchange* exchange_{nullptr};  ///< the one under way
  bool hasServed_{false};
  bool stopping_{false};
  bool expectsContinue_{false};
};

}  // namespace tenure::gateway
