// The shell that drives a LeaseMachine on the caller's thread until it has won a term, and then stops.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/logger.hpp>

#include "lockcore/lease/lease_machine.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure {

/// Why this uses the machine and has no rules of its own: observing a whole lease, polling in phase with the holder,
/// taking over on the observed version, spreading a crowd, and resolving unanswered writes are the machine's rules. The
/// model and the simulation have proven them; a second set of rules would have to be proven again. Why it does not use
/// LeaseDriver: the driver renews from the moment it has won, and only a token's bearer may write. So the machine is
/// stepped by hand. Its store calls are made here, one after the other, and it is dropped at the moment of its
/// election, with its term in the token.
///
/// No liveness file goes into the record: the process ends and the lock does not, so the process's death must prove
/// nothing.
class TokenAcquirer : public std::enable_shared_from_this<TokenAcquirer> {
 public:
  TokenAcquirer(std::shared_ptr<LeaseStore> store, MachineOptions options,
                std::optional<std::chrono::milliseconds> waitFor, Logger logger);
  TokenAcquirer(const TokenAcquirer&) = delete;
  TokenAcquirer& operator=(const TokenAcquirer&) = delete;
  ~TokenAcquirer();

  struct Won {
    RecordVersion version;
    TermState term;
    std::int64_t acquiredAtMillis{0};
  };
  /// Call it once. What it leaves unanswered is taken back afterwards, on a separate thread.
  [[nodiscard]] LockResult<Won> run();

 private:
  class Inbox;

  void pump(LeaseEvent first);
  void perform(const LeaseAction& action);
  void look(const action::SendRead& request);
  [[nodiscard]] ReadOutcome readOnceMade(const action::SendRead& request);
  void send(const action::SendWrite& request);
  void note(const std::optional<LeaseRecord>& record);
  void noteFailure(const StoreError& error);
  void follow(const std::optional<LeaseRecord>& record);

  void pause(std::chrono::nanoseconds bound);
  [[nodiscard]] bool isOver(const Instant& now) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilOver(const Instant& now) const;
  [[nodiscard]] std::chrono::nanoseconds boundOfWait() const;
  [[nodiscard]] std::chrono::nanoseconds callsLeft(const Instant& now) const;
  [[nodiscard]] std::chrono::nanoseconds limited(std::chrono::nanoseconds timeout) const;
  void takeBack(std::chrono::nanoseconds longest);
  void takeBackLater();
  [[nodiscard]] LockError whyNot() const;
  [[nodiscard]] LockError heldByRival(const std::string& name) const;

  const std::shared_ptr<LeaseStore> store_;
  const MachineOptions options_;
  const std::optional<std::chrono::milliseconds> waitFor_;
  const Logger logger_;
  SystemRandom random_;
  LeaseMachine machine_;
  const Instant began_;

  const std::shared_ptr<Inbox> inbox_;  ///< shared with the store's hints and the death watch
  std::shared_ptr<void> hints_;
  std::shared_ptr<void> deathWatch_;

  std::chrono::nanoseconds callsEndIn_{0};  ///< for calls of the store, counted from the beginning
  std::deque<LeaseEvent> events_;
  RecordVersion ownVersion_;  ///< the version that the present answer shows in the record
  std::int64_t acquiredAtMillis_{0};
  bool looked_{false};                   ///< the record was seen at least once
  std::optional<LeaseRecord> rival_;     ///< as last seen; empty: nobody else holds the lock
  Instant rivalSince_{};                 ///< when this version of the rival's record was first seen
  std::optional<StoreError> lastError_;  ///< of the last call; empty: that call succeeded
  std::optional<StoreError> failure_;    ///< of the last acquisition, while no rival has written since
  int failedLooks_{0};                   ///< in a row
  std::optional<Won> won_;
  std::optional<ReleaseResult> stopped_;
};

}  // namespace tenure
