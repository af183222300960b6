// One life of a simulated process: what it has published, and what the checker knows about it.
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
  Instant anchor{};  ///< time before it was sent
  RecordVersion version{};
  WriteRequest::Purpose purpose{};
  FencingToken floor{};  ///< the highest token that the sender knew of
  bool creates{false};   ///< an acquisition conditioned on the absence of the record
  bool applied{false};
  bool proven{false};   ///< a term was published on the strength of it
  bool refused{false};  ///< the answer said that somebody else's record is there
};

struct SimLife {
  std::string name;  // the text that identifies the holder: new for each life
  SimClock clock;
  LeaseTiming timing;
  bool wild{false};    // its clocks keep no bound
  bool manual{false};  // renews only when its owner asks
  std::string data{};  // what its record is to carry; empty: what is there stays
  TermState published{};
  std::optional<SimLock> lock{};  // a candidacy of one term

  // `timing` is the longest that it had; holders may have been bound by these shorter ones, too.
  std::chrono::nanoseconds leastLeads{timing.leadsFor()};
  std::chrono::nanoseconds leastHeartbeat{timing.heartbeat()};
  std::uint64_t ticketAsked{0}, ticketRenewed{0};  // tickets of Renew: asked for, and acknowledged
  std::uint64_t handTurn{0};                       // number of the owner's series of renewals; a new one ends the old
  bool bySighting{false};                          // it began with a sighting and has not been elected yet

  void changeTiming(const LeaseTiming& other) noexcept {
    if (other.duration() > timing.duration()) timing = other;
    leastLeads = std::min<std::chrono::nanoseconds>(leastLeads, other.leadsFor());
    leastHeartbeat = std::min<std::chrono::nanoseconds>(leastHeartbeat, other.heartbeat());
  }

  std::optional<FencingToken> term{};      // elected, and not yet revoked
  FencingToken lastToken{};                // the token of its last term
  FencingToken highestShown{};             // in any record of another holder that was delivered to it
  std::chrono::nanoseconds shownLease{0};  // the lease that was shown with it last
  FencingToken topShown{};                 // in any record
  FencingToken heldShown{};  // the highest that was shown to hold the lease, or to have lost its record, and not to end
  RecordVersion lastShown{};            ///< of the last record that it was shown,
  FencingToken lastHeld{};              ///< the token of that if it was held,
  std::optional<std::string> heldIn{};  ///< the history of the last record that was held
  bool sawItHeld{false};                ///< and whether the state before it was the same term, held
  FencingToken toldOf{};                // reported by a resource, near enough to what it knows to be believed
  FencingToken mayBelieve{};            // reported by a resource, near enough to what the store has
  bool working{false};                  // the work of a term has not ended
  bool shownOwn{false};                 // in this term, a read or a conflict has shown it its own record
  bool stuck{false};                    // the work reports no progress
  Instant progressedAt{};               // since when its work may not have been alive, by its clock
  bool stopped{false};
  bool saysFree{false};                    // it stopped, and reported that it does not hold the lease
  TrueTime releasedAt{-1};                 // it stopped, and reported that the record is marked as released
  bool unreadable{false};                  // by the last read the record cannot be understood
  TrueTime disturbedAt{-1};                // the last fault that could delay or lose something of this life
  TrueTime misledAt{TrueTime::min() / 2};  // the last time that it was shown something other than the truth
  bool atOldPrimary{false};                // a primary that lived on beside the promoted one has answered it
  TrueTime stalledAt{-1};                  // until then it may not have run when it should have

  void stalledUntil(TrueTime when) noexcept {
    stalledAt = std::max(stalledAt, when);
    disturbedUntil(when);
  }
  void disturbedUntil(TrueTime when) noexcept { disturbedAt = std::max(disturbedAt, when); }

  // The request that was sent last.
  Attempt attempt{0};
  bool unanswered{false};
  Instant sentAt{};  // by its clock at that time: freezes since then change what the clock says of that moment
  std::chrono::nanoseconds timeout{0};

  std::array<SentWrite, 32> sent{};
  std::size_t nextSent{0};
  [[nodiscard]] SentWrite* find(const RecordVersion& version) {
    auto* const found = std::find_if(sent.begin(), sent.end(), [&](const auto& w) { return w.version == version; });
    return found != sent.end() ? found : nullptr;
  }
  /// If clocks stand still, several writes have the same anchor: then it returns the one that was applied.
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
