// Internal: one connection to an origin, from the lookup of its name to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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

/// Never called inside of a call of Connection's.
class ConnectionOwner {
 public:
  virtual void opened(Connection& connection) = 0;
  virtual void openFailed(Connection& connection, const HttpError& error) = 0;
  /// Its request is answered, or never will be. takeCall() is what asked, if anybody still waits.
  virtual void answered(Connection& connection, HttpOutcome outcome) = 0;
  /// Nobody waits for it, and it is of no use any more.
  virtual void lost(Connection& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection final : public WireListener, public Alarm, public std::enable_shared_from_this<Connection> {
 public:
  Connection(const Surroundings& around, const Route& route, ConnectionOwner& owner)
      : around_{around}, route_{route}, owner_{owner} {}
  ~Connection() override { close(); }

  /// Name, address after address, proxy, handshake; ends with opened() or openFailed(), at the deadline at the latest.
  void open(std::chrono::nanoseconds deadline);

  /// Whether an idle connection is still one: looks for what has arrived since. One that has ended must not be used.
  [[nodiscard]] bool isAlive();

  /// Only on an idle one. The call must stay until it is answered or let go.
  void exchange(Call& call);
  [[nodiscard]] Call* takeCall() noexcept { return std::exchange(call_, nullptr); }
  /// Nobody waits for the reply any more: it is read for so long, and dropped.
  void letGo(std::chrono::nanoseconds patience);
  /// Without a call between a request and its reply.
  [[nodiscard]] bool isLate() const noexcept { return step_ == Step::busy && call_ == nullptr; }

  /// Whether another call may follow after answered().
  [[nodiscard]] bool isIdle() const noexcept { return step_ == Step::idle; }

  /// How many calls it has served.
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  /// When the last request was given to it.
  [[nodiscard]] std::chrono::nanoseconds askedAt() const noexcept { return askedAt_; }
  [[nodiscard]] bool isPastIdleTime() const noexcept;

  /// No call of the owner follows.
  void close() noexcept;

  /// Whether a byte of the request may have left this process.
  [[nodiscard]] bool maybeSent() const noexcept;
  /// What it does just now: "while waiting for the reply of 10.0.0.1:443".
  [[nodiscard]] std::string doing() const;

  std::uint64_t dialledFor{0};  ///< the pool's: the last call that was there when it was opened
  bool failedACall{false};      ///< the pool's: a call's whole time went by while it was being opened

 private:
  enum class Step { lookup, connect, tunnel, handshake, idle, busy, closed };

  void onOpen() override;
  void onBytes(std::string_view bytes) override;
  void onEnd(const std::string& why) override;
  void onAlarm() override;

  void found(const LookupResult& result);
  void dialNext();
  void addressFailed(const std::string& why);
  void startTls();
  void shakeHands(std::string_view bytes);
  void readTunnel(std::string_view bytes);
  void ready();
  void readTls(std::string_view bytes);
  void readReply(std::string_view bytes);
  void replyDone();
  void streamEnded(bool inOrder, const std::string& why);
  void fail(HttpError::Kind kind, const std::string& text);
  void failLater(HttpError::Kind kind, const std::string& text);
  void flush();
  [[nodiscard]] std::string peer() const;

  const Surroundings& around_;
  const Route& route_;
  ConnectionOwner& owner_;
  Step step_{Step::closed};
  std::chrono::nanoseconds deadline_{0};  ///< of opening
  std::chrono::nanoseconds lastUsed_{0};
  std::chrono::nanoseconds askedAt_{0};
  std::uint64_t used_{0};

  Addresses addresses_{};
  std::size_t next_{0};     ///< in addresses_; the one in use is the one before
  std::string refusals_{};  ///< addresses that failed, and why
  std::unique_ptr<HttpError> later_{};

  std::shared_ptr<Wire> wire_{};
  std::unique_ptr<TlsSession> tls_{};
  bool ended_{false};  ///< TLS has: what is being read came with the end, and no call may follow
  ReplyReader reader_{};
  Call* call_{nullptr};
  std::uint64_t takenBefore_{0};
  std::string plain_{};  // both keep their memory from call to call
  std::string cipher_{};
};

}  // namespace tenure::net
