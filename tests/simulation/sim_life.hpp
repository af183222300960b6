// One life of a simulated process: what it has published, and what the checker knows of it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "lockcore/lease/lease_machine.hpp"
#include "simulation/sim_clock.hpp"
#include "simulation/sim_lock.hpp"

namespace tenure::test {

/// A write that was sent, whatever became of it.
struct SentWrite {
  Instant anchor{};  ///< before it was sent
  RecordVersion version{};
  WriteRequest::Purpose purpose{};
  FencingToken floor{};  ///< the highest token that the sender knew of
  bool creates{false};   ///< an acquisition that waits for no record to be there
  bool applied{false};
  bool proven{false};   ///< a term was published by it
  bool refused{false};  ///< it was answered that somebody else's record is there
};

struct SimLife {
  std::string name;  // the holder text: new for each life
  SimClock clock;
  LeaseTiming timing;
  bool wild{false};    // its clocks keep no bound
  bool manual{false};  // renews only when its owner asks
  TermState published{};
  std::optional<SimLock> lock{};  // a candidacy of one term

  // `timing` is the longest that it had; by these its holders may have been bound, too.
  std::chrono::nanoseconds leastLeads{timing.leadsFor()};
  std::chrono::nanoseconds leastHeartbeat{timing.heartbeat()};
  std::uint64_t ticketAsked{0}, ticketRenewed{0};  // of Renew, and of what was acknowledged of it
  std::uint64_t handTurn{0};                       // of its asking; a later one ends an earlier one
  bool bySighting{false};                          // it began with one and has not been elected yet

  void changeTiming(const LeaseTiming& other) noexcept {
    if (other.duration() > timing.duration()) timing = other;
    leastLeads = std::min<std::chrono::nanoseconds>(leastLeads, other.leadsFor());
    leastHeartbeat = std::min<std::chrono::nanoseconds>(leastHeartbeat, other.heartbeat());
  }

  std::optional<FencingToken> term{};  // Elected and not yet Revoked
  FencingToken lastToken{};            // of its own terms
  FencingToken highestShown{};         // in any record of another that was delivered to it
  FencingToken toldOf{};               // by a resource, and near enough to what it knows to be believed
  FencingToken mayBelieve{};           // by a resource, and near enough to what the store has
  bool working{false};                 // the work of a term has not ended
  bool stuck{false};                   // and it tells of no progress
  bool stopped{false};
  bool saysFree{false};     // it stopped and said that it does not hold the lease
  TrueTime releasedAt{-1};  // it stopped and said that the record is marked as released
  bool unreadable{false};   // the last read told that the record is not understood
  TrueTime troubledAt{-1};  // the last fault that could delay or lose something of it
  TrueTime misledAt{-1};    // the last time that it was shown something else than the truth
  TrueTime stalledAt{-1};   // until then it may not have run when it should have

  void stalledUntil(TrueTime when) noexcept {
    stalledAt = std::max(stalledAt, when);
    troubledUntil(when);
  }
  void troubledUntil(TrueTime when) noexcept { troubledAt = std::max(troubledAt, when); }

  // The request that was sent last.
  Attempt attempt{0};
  bool unanswered{false};
  Instant sentAt{};  // by its clock as it stood: what it is told of that moment later depends on freezes since
  std::chrono::nanoseconds timeout{0};

  std::array<SentWrite, 32> sent{};
  std::size_t nextSent{0};
  [[nodiscard]] SentWrite* find(const RecordVersion& version) {
    auto* const found = std::find_if(sent.begin(), sent.end(), [&](const auto& w) { return w.version == version; });
    return found != sent.end() ? found : nullptr;
  }
  /// Clocks that stand still give several writes one anchor: then the one that was applied.
  [[nodiscard]] SentWrite* find(const Instant& anchor) {
    SentWrite* found = nullptr;
    for (SentWrite& write : sent) {
      if (write.version.isNone() || write.anchor != anchor) continue;
      if (found == nullptr || (write.applied && !found->applied)) found = &write;
    }
    return found;
  }

  TrueTime zeroWakeAt{-1};
  int zeroWakes{0};
  TrueTime windowFrom{0};
  int requestsInWindow{0};
};

}  // namespace tenure::test
