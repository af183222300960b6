// The crash notice, decided without I/O: what proves that nothing of a crashed supervisor's term is left, and the write
// that then releases it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::cli {

/// A term that its guard may release once nothing of it is left.
struct NoticedTerm {
  std::string holder{};
  FencingToken token{};
};

/// What the guard knows after its supervisor has gone.
struct CrashFacts {
  /// The pidfd that the supervisor opened of itself says so. That it closed its socket proves nothing, and a supervisor
  /// that was stopped has not ended.
  bool supervisorEnded{false};
  /// Of the reapers that began to collect what descends from them, how many have not had the kernel's word that nothing
  /// is left (reaper.hpp). Not zero for ever if one was killed.
  int reapersLeft{0};
  std::chrono::nanoseconds left{0};  ///< until the lease ends without a notice
};

enum class CrashStep {
  wait,
  release,  ///< the proof is complete
  leave,    ///< the lease decides
};

[[nodiscard]] CrashStep nextStep(const CrashFacts& facts) noexcept;

/// The release of that term, given what the store holds; `version`: what the record gets. Its condition is the version
/// that was read, so a copy that arrives late changes nothing of a later term, and neither does one beside a late
/// renewal: then it is refused, and what the renewal wrote is read. Empty: there is nothing (more) to release.
[[nodiscard]] std::optional<WriteRequest> releaseOf(const LeaseKey& key, const NoticedTerm& term,
                                                    const std::optional<LeaseRecord>& found,
                                                    const std::string& version);

}  // namespace tenure::cli
