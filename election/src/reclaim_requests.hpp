// Asks a leader with a worse priority to step down, for the elector of a better candidate (candidate.reclaim_after).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>

#include "lockcore/driver/lease_driver.hpp"
#include "reclaim.hpp"

namespace tenure {

/// The timer and the call of the store; Reclaim decides. Used on the scheduler only, except construction.
class ReclaimRequests : public std::enable_shared_from_this<ReclaimRequests> {
 public:
  struct Options {
    LeaseKey key;
    Reclaim rule;
    std::chrono::nanoseconds period;  ///< of the looks, and the patience for the store's answer
    std::function<void(LogLevel, const std::string&)> log;
    std::function<Instant()> now;
  };
  ReclaimRequests(Options options, std::weak_ptr<LeaseStore> store, std::weak_ptr<LeaseDriver> driver);

  /// As LeaderChanged tells it. It looks for as long as the leader is one to take over from.
  void leaderChanged(const std::optional<LeaderInfo>& leader);

 private:
  struct Answer;

  void lookLater(LeaseDriver& driver);
  void look();
  void takeAnswer();
  void ask(const LeaderInfo& leader);

  Options options_;
  const std::weak_ptr<LeaseStore> store_;
  const std::weak_ptr<LeaseDriver> driver_;
  bool looking_{false};                ///< a look is due
  std::shared_ptr<Answer> awaited_{};  ///< shared with the call of the store, which may outlive this
};

}  // namespace tenure
