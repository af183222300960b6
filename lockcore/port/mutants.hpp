// Deliberate faults, to prove that the simulation detects them. They exist only where TENURE_MUTANTS is defined, which
// no installed build does. Elsewhere `mutant::on` is an immediate function that is always false, so nothing of them is
// left.
#pragma once

namespace tenure {

/// tests/simulation/mutant_table.cpp says what each breaks.
enum class Mutant {
  none,
  // What the holder believes.
  validityFromReply,
  validityAtSend,
  noGuard,
  slowestClockForHolder,
  deadlineAfterEvent,
  believesInDoubt,
  unknownRenewalIsSuccess,
  unknownRenewalIsForgotten,
  conflictIsLoss,
  unknownAcquireIsSuccess,
  electedBeforeAnswer,
  oldReplyCounts,
  renewalKeepsVersion,
  heartbeatTooLate,
  retriesWithoutPause,
  readBackForgetsLater,
  shorterLeaseTooLate,
  longerLeaseTooEarly,
  manualRenewsByItself,
  lengtheningUntold,
  // What the challenger waits for.
  waitFromSend,
  noWait,
  ownLeaseLength,
  fastestClockForChallenger,
  waitRestartsAtPoll,
  holderIsEnough,
  corruptIsFree,
  vanishedIsFree,
  openTermIgnored,
  foreignGoneIsProof,
  ownTermIsProof,
  hintIsProof,
  anyDeathIsProof,
  backoffWithoutEnd,
  errorEndsCandidacy,
  floorIgnored,
  reportedTokenUnbounded,
  sightingCountsFromBefore,
  // How a term ends.
  revokedTwice,
  revokedUntold,
  releaseBeforeDrain,
  releaseAfterDrainTimeout,
  stopWithoutRelease,
  releaseOvertakes,
  releaseTrustsOldRecord,
  electedWhileWorking,
  // A candidacy of one term.
  lostLeaseIsFreeAtOnce,
  memoryForgetsTokens,
  giveUpForgetsAcquisition,
  waitBeforeStartForgotten,
  lostLockCompetesAgain,
  makesWhatMustExist,
  freeAtTheEndIsHeld,
  withdrawnLockIsKept,
  // The memory store.
  memoryTakesUnconditionally,
  memoryRenewsUnconditionally,
  memoryTokenStays,
  memoryOpenLeaseForgotten,
  // The DynamoDB store.
  dynamodbTakesUnconditionally,
  dynamodbRenewsUnconditionally,
  dynamodbReleaseMarkStays,
  dynamodbCounterIgnored,
  dynamodbCounterUnguarded,
  dynamodbServerErrorIsRefusal,
  dynamodbOpenLeaseForgotten,
  dynamodbAcquireUnproven,
  count
};

namespace mutant {

#ifdef TENURE_MUTANTS
/// The mutant that this process runs with. Set before any thread starts.
inline Mutant active = Mutant::none;
[[nodiscard]] inline bool on(Mutant which) noexcept { return active == which; }
#else
[[nodiscard]] consteval bool on(Mutant /*which*/) noexcept { return false; }
#endif

}  // namespace mutant
}  // namespace tenure
