// Opens connections: a dial connects to one server, an opener tries each in turn.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "connection_settings.hpp"
#include "pg_handles.hpp"
#include "surroundings.hpp"

namespace tenure::postgresql_store {

struct ConnectFailure {
  std::string text{};
  ServerError serverError{};  ///< the server's, if it was the server that refused
  JobReply::Cause cause{JobReply::Cause::transient};
};

using Connected = std::variant<ConnectionHandle, ConnectFailure>;

/// Connects to one server.
class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Done = std::function<void(Connected)>;

  Dial(Surroundings& around, Done done) : around_{around}, done_{std::move(done)} {}
  ~Dial() { wait_->release(); }
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

  /// `done` is called once, never inside this call, and not after the dial's destruction.
  void begin(const Settings& settings);

 private:
  void next(PostgresPollingStatusType wanted);
  void step();
  void finish();
  [[nodiscard]] ConnectFailure failure() const;

  Surroundings& around_;
  Done done_;
  ConnectionHandle connection_{};
  /// After the connection, so that the socket is released first.
  std::unique_ptr<SocketWait> wait_{around_.makeWait()};
  ConnStatusType stage_{CONNECTION_STARTED};
};

class ConnectionAttempt final : private net::Alarm {
 public:
  using Done = Dial::Done;

  ConnectionAttempt(Surroundings& around, Settings settings, std::string passwordFile)
      : around_{around}, settings_{std::move(settings)}, passwordFile_{std::move(passwordFile)} {}

  [[nodiscard]] bool isBusy() const noexcept { return static_cast<bool>(done_); }

  /// Begins an attempt; none may be under way. A server that has not answered after half of `time` is left for the next
  /// one; the last one has all of it. The server that took the last connection is tried first. `done` may be called
  /// inside this call. It gets the failure of the last server, with the texts of all.
  void begin(std::chrono::nanoseconds time, Done done);

  /// Ends the attempt without a call.
  void stop();

 private:
  void onAlarm() override;
  void tryHost();
  void wait(bool isLast);
  void lookUp(const Host& host);
  void found(const Host& host, const net::LookupResult& result);
  void tryAddress();
  void answered(Connected connected);
  void nextAddress();
  void nextHost();
  void note(ConnectFailure failure);
  void finish(Connected connected);

  Surroundings& around_;
  const Settings settings_;
  const std::string passwordFile_;
  std::size_t first_{0};  ///< of the hosts; tried before all others

  // Of the attempt under way.
  Done done_{};
  std::chrono::nanoseconds time_{0};
  std::chrono::nanoseconds waiting_{0};  ///< for the step under way
  Destination destination_{};
  std::size_t tried_{0};  ///< hosts
  Host host_{};
  std::vector<net::IpAddress> addresses_{};  ///< of host_, those that were not tried yet; the first one is under way
  std::shared_ptr<Dial> dial_{};
  std::optional<ConnectFailure> failure_{};
  /// Answers that belong to an earlier step find it gone.
  std::shared_ptr<int> step_{std::make_shared<int>()};
};

}  // namespace tenure::postgresql_store
