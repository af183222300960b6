#include "store_contact.hpp"

#include <algorithm>
#include <utility>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/candidate_id.hpp>

#include "cli/process/wakeups.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/pause_text.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {

using std::chrono::nanoseconds;

StoreContact::StoreContact(Options options, const Instant& since)
    : options_{std::move(options)}, first_{since}, wait_{options_.wait, since, options_.proofTime} {}

/// A user who runs a command under a lock wants to know which holder the wait is for.
void StoreContact::leaderSeen(const std::optional<LeaderInfo>& leader, const Instant& now) {
  const bool other = leader && !leader->self;
  wait_.leaderSeen(other, now);
  leader_ = leader;
  if (!options_.namesHolder || !other) return note_.drop();
  note_.set(
      "waits for lock " + options_.lease + ": " + personOf(leader->holder) + " holds it " + withToken(leader->token),
      now);
}

std::optional<StoreContact::Finding> StoreContact::look(const Instant& now, const LeaseStatus& status) {
  const auto advice = first_.look(now, status);
  if (!advice) return std::nullopt;
  waitSaid_ = true;
  if (advice->kind == FirstContact::Advice::Kind::giveUp) {
    return Finding{LogLevel::error, "cannot compete: " + advice->cause, advice->cause, exitStore};
  }
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(std::max(advice->waited, nanoseconds{0}));
  return Finding{LogLevel::warn,
                 "has waited for its store for " + durationText(waited) + ": " +
                     (advice->cause.empty() ? "no answer yet" : advice->cause),
                 advice->cause};
}

StoreContact::Finding StoreContact::busy(const LeaseStatus& status) const {
  const auto who = [&](const std::string& what) { return whoHas(what, status.leader->holder, status.leader->token); };
  if (options_.busyIsFine && WaitLimit::isProvenBusy(status)) {
    return {LogLevel::info, "has nothing to do, because " + who("this group"), {}, exitOk};
  }
  return {LogLevel::error,
          "busy: " + who(options_.lease) +
              (options_.busyIsFine ? ", but was not seen to renew the lease, so it may be dead" : ""),
          {},
          exitBusy};
}

std::optional<StoreContact::Finding> StoreContact::judgeWait(const Instant& now, const LeaseStatus& status) const {
  if (!wait_.isOver(now, status)) return std::nullopt;
  if (status.leader && !status.leader->self) return busy(status);
  if (status.lastError) {
    const std::string& cause = status.lastError->message;
    return Finding{LogLevel::error, "not elected: " + cause, cause, exitStore};
  }
  const std::string notYet = "not elected within " + durationText(*options_.wait);
  if (status.leaderSeenAgo.count() < 0) {
    return Finding{LogLevel::error, notYet + ": the store has not answered", {}, exitStore};
  }
  const std::string why = status.ready ? "" : ", and this copy is not ready (candidate.ready)";
  return Finding{LogLevel::error, notYet + "; there is no leader of " + options_.lease + " yet" + why, {}, exitBusy};
}

std::string StoreContact::standbyText() const {
  if (!isMade()) return "waiting for the store";
  if (!leader_ || leader_->self) return "standing by, no leader";
  if (pauseIn(leader_->holder)) return "standing by, the group is paused";
  return "standing by, " + shown(nameOf(leader_->holder), mostOfHolder) + " leads";
}

std::optional<nanoseconds> StoreContact::untilLook(const Instant& now, bool competes) const {
  const auto left = earlier(wait_.untilLook(now), note_.untilDue(now));
  return competes ? earlier(left, first_.untilLook(now)) : left;
}

}  // namespace tenure::cli
