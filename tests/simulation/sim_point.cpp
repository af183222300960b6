#include "simulation/sim_point.hpp"

namespace tenure::test {
namespace {

constexpr std::array<std::string_view, simPoints> pointNames{
    "firstToken", "electedAfterCrash", "electedAfterPause", "electedAfterSuspend", "electedAfterRelease", "electedAfterForeign", "electedAfterDeletion", "electedByDeathNotice", "electedAfterOwnTerm", "electedOverLongerLease", "electedAfterRestart", "acquireRaceLost", "acquireRecoveredByImage", "acquireRecoveredByRead", "acquireAnsweredTooLate", "acquireUnknown", "acquireTokenTooLow", "counterRestored", "renewalRecoveredByImage", "renewalRecoveredByRead", "renewalNotArrived", "renewalOverSeveralVersions", "renewalPendingFull", "renewedAfterDoubt", "expiredInDoubt", "lateReplyIgnored", "replyAfterTheEnd", "lateRequestRefused", "lateRequestApplied", "secondCopyRefused", "gaveUpByItself", "staleReadGiven", "corruptGiven", "throttledGiven", "credentialsGiven", "misconfiguredGiven", "hintTaken", "revokedStopped", "revokedSteppedDown", "revokedExpired", "revokedLost", "revokedRecordMissing", "revokedUnreachable", "revokedFatal", "revokedByToken", "revokedWithoutProgress", "operatorHeard", "lostWhileDraining", "drainTimedOut", "releaseAfterUnknown", "releaseUnknown", "releaseFoundNothing", "stoppedWhileAcquiring", "stoppedWithPending", "stoppedNotDrained", "fenceRefused", "onlyTheFence", "victimOfDeletion", "crowdOfTwenty", "foreignLed", "healedBesideCutOff"};

}  // namespace

std::string_view toString(SimPoint point) noexcept { return pointNames[static_cast<std::size_t>(point)]; }

}  // namespace tenure::test
