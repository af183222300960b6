#include "simulation/mutant_table.hpp"

#include <algorithm>

namespace tenure::test {

namespace {

constexpr std::array<MutantInfo, mutantCount> mutants{{
    {Mutant::validityFromReply, "validityFromReply", StoreKind::drawn, "I2",
     "a renewal counts from its answer instead of from before it was sent"},
    {Mutant::validityAtSend, "validityAtSend", StoreKind::drawn, "I2", "a renewal counts as soon as it is sent"},
    {Mutant::noGuard, "noGuard", StoreKind::drawn, "I1", "the holder leaves no margin for clock rates"},
    {Mutant::slowestClockForHolder, "slowestClockForHolder", StoreKind::drawn, "I4",
     "the holder's deadline goes by the slowest clock"},
    {Mutant::deadlineAfterEvent, "deadlineAfterEvent", StoreKind::drawn, "I4",
     "a late answer is looked at before the deadline"},
    {Mutant::believesInDoubt, "believesInDoubt", StoreKind::drawn, "I4",
     "while renewals fail the holder goes on beyond its deadline"},
    {Mutant::unknownRenewalIsSuccess, "unknownRenewalIsSuccess", StoreKind::drawn, "I8",
     "a renewal that was not answered counts as done"},
    {Mutant::unknownRenewalIsForgotten, "unknownRenewalIsForgotten", StoreKind::drawn, "I8",
     "a renewal that was not answered counts as not done"},
    {Mutant::conflictIsLoss, "conflictIsLoss", StoreKind::drawn, "I8",
     "a conflict ends the term without a look at the record"},
    {Mutant::unknownAcquireIsSuccess, "unknownAcquireIsSuccess", StoreKind::drawn, "I8",
     "an acquisition that was not answered counts as won"},
    {Mutant::electedBeforeAnswer, "electedBeforeAnswer", StoreKind::drawn, "I2",
     "a term begins when its acquisition is sent"},
    {Mutant::oldReplyCounts, "oldReplyCounts", StoreKind::drawn, "I8",
     "the answer to an earlier request counts for the present one"},
    {Mutant::renewalKeepsVersion, "renewalKeepsVersion", StoreKind::drawn, "I3",
     "a renewal leaves the record version as it was"},
    {Mutant::heartbeatTooLate, "heartbeatTooLate", StoreKind::drawn, "stability",
     "the holder renews every fourth heartbeat only"},
    {Mutant::retriesWithoutPause, "retriesWithoutPause", StoreKind::drawn, "requests",
     "failed renewals are repeated at once"},
    {Mutant::readBackForgetsLater, "readBackForgetsLater", StoreKind::drawn, "I8",
     "renewals sent after the one that a read-back proved are forgotten"},
    {Mutant::shorterLeaseTooLate, "shorterLeaseTooLate", StoreKind::drawn, "I2",
     "a shorter lease counts from the answer to its renewal instead of from when that is sent"},
    {Mutant::longerLeaseTooEarly, "longerLeaseTooEarly", StoreKind::drawn, "I2",
     "a longer lease counts as soon as it is asked for"},
    {Mutant::manualRenewsByItself, "manualRenewsByItself", StoreKind::drawn, "manual",
     "a holder that is to renew when it is asked to renews at each heartbeat"},
    {Mutant::waitFromSend, "waitFromSend", StoreKind::drawn, "I3", "the wait counts from when the read was sent"},
    {Mutant::noWait, "noWait", StoreKind::drawn, "I1", "a held lease is taken at once"},
    {Mutant::ownLeaseLength, "ownLeaseLength", StoreKind::drawn, "I3",
     "the challenger waits for its own lease length, not for the record's"},
    {Mutant::fastestClockForChallenger, "fastestClockForChallenger", StoreKind::drawn, "I1",
     "the challenger's wait goes by the fastest clock"},
    {Mutant::waitRestartsAtPoll, "waitRestartsAtPoll", StoreKind::drawn, "I10", "every read starts the wait anew"},
    {Mutant::holderIsEnough, "holderIsEnough", StoreKind::drawn, "I3",
     "a record of the same holder counts as unchanged"},
    {Mutant::corruptIsFree, "corruptIsFree", StoreKind::drawn, "I11",
     "a record that is not understood does not stop a takeover"},
    {Mutant::vanishedIsFree, "vanishedIsFree", StoreKind::drawn, "I1",
     "a record that vanished is taken at once by who saw its holder"},
    {Mutant::hintIsProof, "hintIsProof", StoreKind::drawn, "I1",
     "a store's hint counts as proof that the holder is dead"},
    {Mutant::anyDeathIsProof, "anyDeathIsProof", StoreKind::drawn, "I1", "anybody's death counts as the holder's"},
    {Mutant::backoffWithoutEnd, "backoffWithoutEnd", StoreKind::drawn, "I10",
     "the pause after errors grows without a cap"},
    {Mutant::errorEndsCandidacy, "errorEndsCandidacy", StoreKind::drawn, "I10",
     "an error of the credentials ends the candidacy"},
    {Mutant::floorIgnored, "floorIgnored", StoreKind::drawn, "I7",
     "a token that a resource told is not taken into account by the next acquisition"},
    {Mutant::sightingCountsFromBefore, "sightingCountsFromBefore", StoreKind::drawn, "I3",
     "what was seen by other ways counts as unchanged for a lease before it was seen"},
    {Mutant::revokedTwice, "revokedTwice", StoreKind::drawn, "I5", "onRevoked comes twice"},
    {Mutant::revokedUntold, "revokedUntold", StoreKind::drawn, "I5", "a lease that was lost to another is not told"},
    {Mutant::releaseBeforeDrain, "releaseBeforeDrain", StoreKind::drawn, "I9",
     "the lease is released before the work has ended"},
    {Mutant::releaseAfterDrainTimeout, "releaseAfterDrainTimeout", StoreKind::drawn, "I9",
     "the lease is released although the work did not end in time"},
    {Mutant::stopWithoutRelease, "stopWithoutRelease", StoreKind::drawn, "I9",
     "a leader that is stopped does not release"},
    {Mutant::releaseOvertakes, "releaseOvertakes", StoreKind::drawn, "I8",
     "the release does not wait for the renewal under way"},
    {Mutant::releaseTrustsOldRecord, "releaseTrustsOldRecord", StoreKind::drawn, "I8",
     "a stop says that the lease is free while an unanswered acquisition may still take it"},
    {Mutant::electedWhileWorking, "electedWhileWorking", StoreKind::drawn, "I9",
     "a new term begins while the work of the last one still runs"},
    {Mutant::memoryTakesUnconditionally, "memoryTakesUnconditionally", StoreKind::memory, "I1",
     "the memory store's takeover has no condition on the version"},
    {Mutant::memoryRenewsUnconditionally, "memoryRenewsUnconditionally", StoreKind::memory, "I1",
     "the memory store's renewal and release have no condition"},
    {Mutant::memoryTokenStays, "memoryTokenStays", StoreKind::memory, "I7",
     "the memory store's takeover does not raise the token"},
    {Mutant::dynamodbTakesUnconditionally, "dynamodbTakesUnconditionally", StoreKind::dynamodb, "I1",
     "the takeover in DynamoDB has no condition on the version"},
    {Mutant::dynamodbRenewsUnconditionally, "dynamodbRenewsUnconditionally", StoreKind::dynamodb, "I1",
     "the renewal and release in DynamoDB have no condition on version and owner"},
    {Mutant::dynamodbReleaseMarkStays, "dynamodbReleaseMarkStays", StoreKind::dynamodb, "I1",
     "a takeover in DynamoDB leaves the mark of the release"},
    {Mutant::dynamodbCounterIgnored, "dynamodbCounterIgnored", StoreKind::dynamodb, "I7",
     "the fencing counter's item is not looked at: a deleted record takes its token along"},
    {Mutant::dynamodbCounterUnguarded, "dynamodbCounterUnguarded", StoreKind::dynamodb, "I7",
     "an acquisition in DynamoDB writes the counter whatever it is by now"},
    {Mutant::dynamodbServerErrorIsRefusal, "dynamodbServerErrorIsRefusal", StoreKind::dynamodb, "I8",
     "a server error counts as not applied"},
    {Mutant::dynamodbWeakRead, "dynamodbWeakRead", StoreKind::dynamodb, "I8",
     "reads of the lock item are not consistent"},
    {Mutant::dynamodbDeletesOnRelease, "dynamodbDeletesOnRelease", StoreKind::dynamodb, "I7",
     "a release in DynamoDB deletes the record"},
}};

}  // namespace

const std::array<MutantInfo, mutantCount>& mutantTable() noexcept { return mutants; }

const MutantInfo* mutantNamed(std::string_view name) noexcept {
  const auto& table = mutantTable();
  const auto* const found =
      std::find_if(table.begin(), table.end(), [&](const MutantInfo& info) { return info.name == name; });
  return found != table.end() ? found : nullptr;
}

}  // namespace tenure::test
