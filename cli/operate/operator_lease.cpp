#include "operator_lease.hpp"

#include <algorithm>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>

#include "cli/group/store_calls.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "cli/text/pause_text.hpp"
#include "config/src/duration.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// After that it is looked again who leads. An attempt that begins with a look of its own must get to its write.
constexpr milliseconds attemptTime{1'000};

}  // namespace

std::optional<int> refusedByPause(const std::optional<LeaseRecord>& record) {
  const auto pause = pauseOf(record);
  if (!pause) return std::nullopt;
  complain("the group is " + toString(*pause) + ". Give the command again after tenure resume. Nothing was changed");
  return exitBusy;
}

std::optional<int> askToStepDown(const LeaseOfGroup& lease, const LeaseRecord& leader, nanoseconds left,
                                 const Successor& successor) {
  if (leader.token.isNone()) {
    complain(
        personOf(leader.holder) + " leads " + toString(lease.key) +
        " without a fencing token, so it is of another client, which cannot be asked to step down; stop its process");
    return exitFailed;
  }
  const WriteOutcome outcome =
      requestStepDownNow(*lease.store, lease.key, {leader.token, successor}, lookPatience(left));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  const auto* unknown = std::get_if<Unknown>(&outcome);
  if (rejected == nullptr && unknown == nullptr) return std::nullopt;
  complain(faultText(*lease.store, rejected != nullptr ? rejected->error : unknown->error) +
           (unknown != nullptr ? ". The request may have arrived, so the leader may still step down" : ""));
  return exitStore;
}

int takeFromLeaders(const LeaseOfGroup& lease, milliseconds wait, const LeaseAttempt& attempt) {
  const Instant began = readClock();
  FencingToken asked;
  for (;;) {
    const auto patience = lookPatience(wait - elapsedForHolder(began, readClock()));
    const ReadOutcome record = readNow(*lease.store, lease.key, patience);
    if (!record) {
      complain(faultText(*lease.store, record.error()) +
               (asked.isNone() ? "" : ". The leader was asked to step down, and may still do so"));
      return !asked.isNone() && elapsedForHolder(began, readClock()) >= wait ? exitNotYet : exitStore;
    }
    if (const auto code = refusedByPause(*record)) return *code;
    if (isHeld(*record) && (*record)->token != asked) {
      complain("asking " + personOf((*record)->holder) + " to step down");
      const nanoseconds left = wait - elapsedForHolder(began, readClock());
      if (const auto code = askToStepDown(lease, **record, left)) {
        const bool over = *code == exitStore && elapsedForHolder(began, readClock()) >= wait;
        return over ? exitNotYet : *code;
      }
      asked = (*record)->token;
    }
    const nanoseconds left = wait - elapsedForHolder(began, readClock());
    if (left.count() <= 0) {
      complain("the lease " + toString(lease.key) + " could not be acquired in " + durationText(wait) +
               (isHeld(*record) ? "; " + personOf((*record)->holder) + " leads, and was asked to step down" : "") +
               ". Give the command again, or more time with --wait");
      return exitNotYet;
    }
    const auto time = std::min(std::chrono::ceil<milliseconds>(left), attemptTime);
    const LockResult<void> taken = attempt(time);
    if (taken.has_value()) return exitOk;
    const LockError error = taken.error();
    // A busy store is asked again while there is time; the look above ends it where the store does not answer at all.
    const bool mayCome =
        error.code == LockErrc::held || error.code == LockErrc::timeout || error.code == LockErrc::storeUnavailable;
    if (mayCome) continue;
    return complain(error.message), exitCodeOf(error);
  }
}

}  // namespace tenure::cli
