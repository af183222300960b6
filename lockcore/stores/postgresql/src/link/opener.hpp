// Opens connections: one attempt at a time, which tries each server in turn.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dial.hpp"

namespace tenure::postgresql_store {

class Opener final : private net::Alarm {
 public:
  using Done = Dial::Done;

  Opener(Surroundings& around, Settings settings, std::string passwordFile)
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
