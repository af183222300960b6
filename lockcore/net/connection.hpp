// Internal: one connection to an origin, from the lookup of its name to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "address_book.hpp"
#include "alarm_queue.hpp"
#include "call.hpp"
#include "http_client.hpp"
#include "proxy.hpp"
#include "reply_reader.hpp"
#include "tls.hpp"
#include "transport.hpp"

namespace tenure::net {

/// What all connections of a client share.
struct Surroundings {
  const HttpClientOptions& options;
  AlarmQueue& alarms;
  Dialer& dialer;
  AddressBook& book;
  std::function<TlsContext&()> tls;  ///< may throw
};

/// Its functions are never called inside a call of Connection.
class ConnectionOwner {
 public:
  virtual void opened(Connection& connection) = 0;
  virtual void openFailed(Connection& connection, const HttpError& error) = 0;
  /// The connection's request is answered, or never will be. takeCall() returns the call that asked, if anybody still
  /// waits.
  virtual void answered(Connection& connection, HttpOutcome outcome) = 0;
  /// The reply to stream() has status 2xx, and this part of its body has come; it may be empty. The owner may close the
  /// connection here.
  virtual void arrived(Connection& /*connection*/, std::string_view /*part*/) {}
  /// No call waits for this connection, and it cannot be used any more.
  virtual void lost(Connection& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection final : public WireListener, public Alarm, public std::enable_shared_from_this<Connection> {
 public:
  Connection(const Surroundings& around, const Route& route, ConnectionOwner& owner)
      : around_{around}, route_{route}, owner_{owner} {}
  ~Connection() override { close(); }

  /// Does the lookup, tries one address after another, then proxy and handshake. It ends with opened() or openFailed(),
  /// at the latest at the deadline.
  void open(std::chrono::nanoseconds deadline);

  /// Whether an idle connection can still be used: reads what has arrived since. A connection that has ended must not
  /// be used, nor one that shows a client certificate which was replaced.
  [[nodiscard]] bool isAlive();

  /// Only on an idle connection. The call must exist until it is answered or let go.
  void exchange(Call& call);
  /// The same for a reply that the owner takes part by part. It ends with answered(), and the connection with it.
  void stream(const HttpRequest& request);
  [[nodiscard]] Call* takeCall() noexcept { return std::exchange(call_, nullptr); }
  /// Nobody waits for the reply any more: it is read for at most `patience`, and dropped.
  void letGo(std::chrono::nanoseconds patience);
  /// It has sent a request and still waits for the reply, but no call does.
  [[nodiscard]] bool isLate() const noexcept { return step_ == Step::busy && call_ == nullptr && !streams_; }

  /// Whether another call may follow after answered().
  [[nodiscard]] bool isIdle() const noexcept { return step_ == Step::idle; }

  /// Where it leads; empty before it was dialled.
  [[nodiscard]] std::optional<IpAddress> address() const {
    return next_ == 0 ? std::nullopt : std::optional{addresses_[next_ - 1]};
  }

  /// How many calls it has served.
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  /// When the last request was given to it.
  [[nodiscard]] std::chrono::nanoseconds askedAt() const noexcept { return askedAt_; }
  [[nodiscard]] bool isPastIdleTime() const noexcept;

  /// After this, no function of the owner is called.
  void close() noexcept;

  /// Whether a byte of the request may have left this process.
  [[nodiscard]] bool maybeSent() const noexcept;
  /// What it is doing now: "while waiting for the reply of 10.0.0.1:443".
  [[nodiscard]] std::string doing() const;

  std::uint64_t dialledFor{0};  ///< used by the pool: the last call that existed when it was opened
  bool failedACall{false};      ///< used by the pool: while it was being opened, a call ran out of time

 private:
  enum class Step { lookup, connect, proxyHandshake, tunnel, handshake, idle, busy, closed };

  void onOpen() override;
  void onBytes(std::string_view bytes) override;
  void onEnd(const std::string& why) override;
  void onAlarm() override;

  void found(const LookupResult& result);
  void dialNext();
  void addressFailed(const std::string& why);
  void peerFailed(HttpError::Kind kind, const std::string& text);
  [[nodiscard]] std::string allFaults() const;
  [[nodiscard]] std::unique_ptr<TlsSession> sessionWith(const std::string& host, std::uint16_t port);
  void greetProxy(std::string_view bytes);
  void behindProxy();
  void startTls();
  void shakeHands(std::string_view bytes);
  void deliver(std::string_view bytes);
  [[nodiscard]] bool unwrap(std::string& bytes);
  [[nodiscard]] bool showsOldCertificate() const;
  void put(std::string_view bytes);
  void readTunnel(std::string_view bytes);
  void ready();
  void readTls(std::string_view bytes);
  void send(const HttpRequest& request);
  void readReply(std::string_view bytes);
  [[nodiscard]] bool giveAPart();
  void replyDone();
  void streamEnded(bool whole, const std::string& why);
  void fail(HttpError::Kind kind, const std::string& text);
  void failLater(HttpError::Kind kind, const std::string& text);
  void flush();
  [[nodiscard]] std::string peer() const;
  [[nodiscard]] std::string proxyText() const;

  const Surroundings& around_;
  const Route& route_;
  ConnectionOwner& owner_;
  Step step_{Step::closed};
  std::chrono::nanoseconds deadline_{0};  ///< for opening
  std::chrono::nanoseconds lastUsed_{0};
  std::chrono::nanoseconds askedAt_{0};
  std::uint64_t used_{0};

  Addresses addresses_{};
  std::size_t next_{0};     ///< index in addresses_; the address in use is the one before
  std::string failures_{};  ///< addresses that failed, and why
  std::string faults_{};    ///< the same of those that accepted, but are not the service
  std::unique_ptr<HttpError> later_{};

  std::shared_ptr<Wire> wire_{};
  std::unique_ptr<TlsSession> outer_{};  ///< with the proxy, round all that goes through it
  std::unique_ptr<TlsSession> tls_{};
  bool ended_{false};  ///< TLS has ended: the bytes being read came with the end, and no call may follow
  ReplyReader reader_{};
  Call* call_{nullptr};
  bool streams_{false};
  std::uint64_t takenBefore_{0};
  std::string plain_{};  // both keep their memory from call to call
  std::string cipher_{};
};

}  // namespace tenure::net
