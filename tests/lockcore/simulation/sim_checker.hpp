// What must hold in every simulated run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_machine.hpp>

#include "lockcore/simulation/sim_clock.hpp"

namespace tenure::test {

/// One life of a simulated process: what it has published, and what the checker knows of it.
struct SimLife {
  std::string name;  // the holder text: new for each life
  SimClock clock;
  TermState published{};
  LeaseTiming timing;

  std::optional<FencingToken> term{};  // Elected and not yet Revoked
  FencingToken lastToken{};            // of its own terms
  FencingToken highestShown{};         // in any record of another that was delivered to it
  Instant highestShownAt{};
  Instant acquisitionSentAt{};  // of the term that is published
  FencingToken toldOf{};        // by a resource
  bool working{false};          // the work of a term has not ended
  bool stopped{false};
  TrueTime troubledAt{-1};  // the last fault that could delay or lose something of it

  void troubledUntil(TrueTime when) noexcept { troubledAt = std::max(troubledAt, when); }

  // The request that was sent last.
  Attempt attempt{0};
  bool unanswered{false};
  TrueTime sentAt{0};
  std::chrono::nanoseconds timeout{0};

  TrueTime zeroWakeAt{-1};
  int zeroWakes{0};
  TrueTime windowFrom{0};
  int requestsInWindow{0};
};

class SimChecker {
 public:
  using Lives = std::vector<SimLife*>;

  explicit SimChecker(const TrueTime& now) : now_{now} {}

  void published(SimLife& life, const TermState& term, const Lives& all);
  void elected(SimLife& life, FencingToken token);
  void revoked(SimLife& life, const action::Revoked& revoked, const std::optional<LeaseRecord>& truth);
  /// `dropsOld`: the machine has just ended a term, and with it its interest in an older request.
  void requestSent(SimLife& life, Attempt attempt, std::chrono::nanoseconds timeout, bool dropsOld);
  void releaseSent(const SimLife& life);
  void stopped(SimLife& life);
  void acted(const SimLife& life);
  void askedToBeWoken(SimLife& life, std::chrono::nanoseconds delay);
  /// The record was deleted: an overlap with its holder's present term is its victim's, unless the successor knew of
  /// it.
  void erased(const LeaseRecord& record);

  /// No fault any more: from here on exactly one leads, without an end.
  void calmBegins(const Lives& all);
  void calmEnds() noexcept { calm_ = false; }

  void violation(const SimLife& life, const std::string& what);
  void count(const std::string& what) { ++counts_[what]; }
  [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return violations_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  const TrueTime& now_;
  bool calm_{false};
  FencingToken lastElected_{};
  FencingToken erased_{};
  std::vector<std::string> violations_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace tenure::test
