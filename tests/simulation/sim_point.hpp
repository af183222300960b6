// Rare paths that the runs of a suite must take at least once; otherwise the suite does not test them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenure::test {

enum class SimPoint : unsigned {
  // Acquisitions.
  firstToken,
  electedAfterCrash,
  electedAfterPause,
  electedAfterSuspend,
  electedAfterRelease,
  electedAfterForeign,
  electedAfterDeletion,
  electedAfterUnseenDeletion,
  electedByDeathNotice,
  electedAfterOwnTerm,
  electedOverLongerLease,
  electedAfterRestart,
  electedBySighting,
  acquireRaceLost,
  acquireRecoveredByImage,
  acquireRecoveredByRead,
  acquireAnsweredTooLate,
  acquireUnknown,
  acquireTokenTooLow,
  counterRestored,
  // Renewals.
  renewalRecoveredByImage,
  renewalRecoveredByRead,
  renewalNotArrived,
  renewalOverSeveralVersions,
  renewalPendingFull,
  renewedAfterDoubt,
  expiredInDoubt,
  renewedByHand,
  leaseMadeShorter,
  leaseMadeLonger,
  // Replies and requests.
  lateReplyIgnored,
  replyAfterTheEnd,
  lateRequestRefused,
  lateRequestApplied,
  secondCopyRefused,
  dataRefused,
  gaveUpByItself,
  staleReadGiven,
  corruptGiven,
  throttledGiven,
  credentialsGiven,
  misconfiguredGiven,
  hintTaken,
  // Ends of terms.
  revokedStopped,
  revokedSteppedDown,
  revokedExpired,
  revokedLost,
  revokedRecordMissing,
  revokedUnreachable,
  revokedFatal,
  revokedByToken,
  revokedWithoutProgress,
  operatorHeard,
  reportRefused,
  lostWhileDraining,
  drainTimedOut,
  releaseAfterUnknown,
  releaseUnknown,
  releaseFoundNothing,
  stoppedWhileAcquiring,
  stoppedWithPending,
  stoppedNotDrained,
  // Candidacies of one term.
  lockWon,
  lockGaveUpHeld,
  lockGaveUpUnavailable,
  lockGaveUpMissing,
  lockWithdrawn,
  lockWonForNobody,
  lockLeftUndrained,
  lockTakenWithoutALook,
  lockBesideItsLastTerm,
  lockRemovedTheRecord,
  // The world.
  fenceRefused,
  onlyTheFence,
  victimOfOverwriting,
  crowdOfTwenty,
  foreignLed,
  healedBesideCutOff,
  commitsLost,
  termOfLostCommits,
  inheritedTaken,
  blockOfTokensBegun,
  takeoverAnnounced,
  streamLied,
  successorElected,
  successorPassedOver,
  count
};

inline constexpr std::size_t simPoints = static_cast<std::size_t>(SimPoint::count);

[[nodiscard]] std::string_view toString(SimPoint point) noexcept;

class PointCounts {
 public:
  void hit(SimPoint point) noexcept { ++counts_[static_cast<std::size_t>(point)]; }
  [[nodiscard]] std::uint64_t of(SimPoint point) const noexcept { return counts_[static_cast<std::size_t>(point)]; }
  void add(const PointCounts& other) noexcept {
    for (std::size_t i = 0; i < simPoints; ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::uint64_t, simPoints> counts_{};
};

}  // namespace tenure::test
