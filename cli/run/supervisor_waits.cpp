#include "supervisor_waits.hpp"

#include <tenure/election/listener.hpp>

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// With --wait 0s: how long the store may take to answer, how long a leader that was seen may take to be proven dead,
/// and how often to check for an error, because errors are not announced.
constexpr milliseconds firstAnswerTimeout{5'000};
constexpr milliseconds deathProofTime{200};
constexpr milliseconds errorCheckPeriod{50};

/// An error counts unless the store has answered since.
bool fails(const LeaseStatus& status) noexcept {
  if (!status.lastError) return false;
  const bool answeredSince = status.leaderSeenAgo.count() >= 0 && status.leaderSeenAgo < status.lastErrorAgo;
  return !answeredSince;
}

}  // namespace

void WaitLimit::leaderSeen(bool other, const Instant& now) noexcept {
  if (!other) {
    othersLeadSince_.reset();
  } else if (!othersLeadSince_) {
    othersLeadSince_ = now;
  }
}

std::optional<nanoseconds> WaitLimit::untilLook(const Instant& now) const noexcept {
  if (!wait_) return std::nullopt;
  return std::max<nanoseconds>(*wait_ - elapsedForHolder(since_, now), errorCheckPeriod);
}

bool WaitLimit::isProvenBusy(const LeaseStatus& status) {
  return status.leader && !status.leader->self && (status.leaderRenews || pauseIn(status.leader->holder));
}

bool WaitLimit::isOver(const Instant& now, const LeaseStatus& status) const {
  if (!wait_) return false;
  const nanoseconds waited = elapsedForHolder(since_, now);
  const bool mayBeDead = proofTime_.count() > 0 && othersLeadSince_ && !isProvenBusy(status);
  if (mayBeDead && waited < *wait_ + proofTime_) return false;
  if (wait_->count() > 0) return waited >= *wait_;
  const bool othersLead = othersLeadSince_ && elapsedForHolder(*othersLeadSince_, now) >= deathProofTime;
  return othersLead || fails(status) || waited >= firstAnswerTimeout;
}

}  // namespace tenure::cli
