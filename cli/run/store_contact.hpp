// What a copy that does not lead knows of its store and of who leads, and when it stops to wait. Pure: time and status
// are arguments.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "first_contact.hpp"
#include "lockcore/driver/lease_driver.hpp"
#include "supervisor_waits.hpp"

namespace tenure::cli {

class StoreContact {
 public:
  struct Options {
    std::string lease;                                ///< its name, for people
    std::optional<std::chrono::milliseconds> wait{};  ///< `run --wait`
    std::chrono::nanoseconds proofTime{0};            ///< WaitLimit
    bool busyIsFine{false};                           ///< another leader is no failure
    bool namesHolder{false};                          ///< says who holds what the user waits for
  };
  StoreContact(Options options, const Instant& since);

  /// What is to be said, and the exit code if the program ends with it.
  struct Finding {
    LogLevel level{LogLevel::error};
    std::string message;
    std::optional<std::string> cause{};  ///< what the store has answered, which is said with this
    std::optional<int> code{};
  };

  void leaderSeen(const std::optional<LeaderInfo>& leader, const Instant& now);
  /// This copy leads now, or the program ends for another reason.
  void stopWaiting() noexcept { wait_.lift(); }
  void dropNote() noexcept { note_.drop(); }

  /// Before the store's first answer, only the cause shows whether the set-up is wrong or the store is out of service.
  [[nodiscard]] std::optional<Finding> look(const Instant& now, const LeaseStatus& status);
  /// Set once the wait for leadership is over.
  [[nodiscard]] std::optional<Finding> judgeWait(const Instant& now, const LeaseStatus& status) const;
  /// Who leads, once it is time to say so.
  [[nodiscard]] std::optional<std::string> takeNote(const Instant& now) { return note_.take(now); }

  [[nodiscard]] bool isMade() const noexcept { return first_.isMade(); }
  /// It competes, or has said that it waits for its store.
  [[nodiscard]] bool isReady() const noexcept { return isMade() || waitSaid_; }
  /// What a service manager shows of a copy that neither leads nor pauses.
  [[nodiscard]] std::string standbyText() const;
  /// `competes`: the elector runs, so its status can be looked at.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilLook(const Instant& now, bool competes) const;

 private:
  [[nodiscard]] Finding busy(const LeaseStatus& status) const;

  const Options options_;
  FirstContact first_;
  WaitLimit wait_;
  DelayedNote note_;
  std::optional<LeaderInfo> leader_;  ///< as last seen
  bool waitSaid_{false};
};

}  // namespace tenure::cli
