#include "pool.hpp"

#include <algorithm>
#include <utility>

namespace tenure::postgresql_store {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds firstPause = milliseconds{50};
constexpr nanoseconds longestPause = milliseconds{2'000};
/// A part of the time that a job has, which follows the lease: the pause must not use up what the next attempt needs.
nanoseconds longestPauseOf(const QueuedJob& queued) { return std::clamp(queued.timeout / 4, firstPause, longestPause); }

constexpr nanoseconds shortestConnect = milliseconds{200};
constexpr nanoseconds longestConnect = milliseconds{5'000};

nanoseconds arrivalOf(const QueuedJob& queued) { return queued.due - queued.timeout; }

std::string inMillis(nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
}

}  // namespace

Pool::Pool(Surroundings& around, Options options)
    : around_{around},
      options_{std::move(options)},
      attempt_{around, options_.settings, options_.passwordFile},
      pause_{around.alarms, [this] { serve(); }},
      further_{around.alarms, [this] { serve(); }},
      surplus_{around.alarms, [this] { closeSurplus(); }},
      cold_{around.alarms, [this] { warmUp(); }},
      nextPause_{firstPause} {}

void Pool::submit(std::vector<std::unique_ptr<QueuedJob>> queuedJobs) {
  for (auto& queued : queuedJobs) {
    queued->keeper = this;
    around_.alarms.set(*queued, queued->due);
    pauseAtMost(longestPauseOf(*queued));
    lines_.at(kindOf(*queued)).push_back(std::move(queued));
  }
  serve();
}

void Pool::serve() {
  while (Line* line = servableLine()) {
    const auto session = freeSession();
    if (!session) return openFor(*line->front());
    std::unique_ptr<QueuedJob> queued = std::move(line->front());
    line->pop_front();
    session->run(std::move(queued));
  }
}

Pool::Kind Pool::kindOf(const QueuedJob& queued) noexcept {
  if (queued.job.urgent) return urgent;
  return queued.job.writes ? write : read;
}

/// Of reads and writes, what came first goes first.
Pool::Line* Pool::servableLine() {
  if (!lines_[urgent].empty()) return &lines_[urgent];
  std::array<std::size_t, kindCount> busy{};
  for (const auto& session : sessions_) {
    if (session->queued() != nullptr) ++busy.at(kindOf(*session->queued()));
  }
  if (busy[write] + busy[read] >= mostUsual) return nullptr;
  Line* const writes = lines_[write].empty() || busy[write] >= mostWrites ? nullptr : &lines_[write];
  Line* const reads = lines_[read].empty() ? nullptr : &lines_[read];
  if (writes == nullptr || reads == nullptr) return writes != nullptr ? writes : reads;
  return arrivalOf(*writes->front()) <= arrivalOf(*reads->front()) ? writes : reads;
}

/// The one that was used last, so that surplus ones grow old.
std::shared_ptr<Session> Pool::freeSession() {
  for (;;) {
    std::shared_ptr<Session> best;
    for (const auto& one : sessions_) {
      if (one->isFree() && (!best || one->freeSince() > best->freeSince())) best = one;
    }
    if (!best || best->looksAlive()) return best;
    drop(*best);
  }
}

/// One attempt at a time: a server that is down, or has too many connections, is not asked by all at once. A job of
/// less time than furtherAfter may be over by then, and another one waits in its place.
void Pool::openFor(const QueuedJob& waiting) {
  if (!allBusySince_) allBusySince_ = around_.now();
  if (attempt_.isBusy() || pause_.isSet() || sessions_.size() >= mostConnections) return;
  const nanoseconds waitsSince = std::max(std::min(arrivalOf(waiting), *allBusySince_), openedLast_);
  const nanoseconds left = waitsSince + furtherAfter - around_.now();
  if (!sessions_.empty() && left > nanoseconds{0}) return further_.setIn(left);
  attemptBegan_ = around_.now();
  attempt_.begin(connectTime(), [this](Connected connected) { opened(std::move(connected)); });
}

/// The time that the waiting jobs have.
nanoseconds Pool::connectTime() const {
  nanoseconds longest{0};
  for (const Line& line : lines_) {
    for (const auto& queued : line) longest = std::max(longest, queued->due - around_.now());
  }
  return std::clamp(longest, shortestConnect, longestConnect);
}

void Pool::opened(Connected connected) {
  if (auto* failure = std::get_if<ConnectFailure>(&connected)) return openFailed(std::move(*failure));
  failure_.reset();
  nextPause_ = firstPause;
  openedLast_ = around_.now();
  sessions_.push_back(std::make_shared<Session>(around_, static_cast<Session::Owner&>(*this),
                                                std::get<ConnectionHandle>(std::move(connected)), options_.text,
                                                options_.commitMode));
  std::shared_ptr<Session> { sessions_.back() } -> begin();
}

/// Jobs that wait while other connections are open may still get one of those.
void Pool::openFailed(ConnectFailure failure) {
  failure_ = std::move(failure);
  pause_.setIn(nextPause_);
  pauseEnds_ = around_.now() + nextPause_;
  nextPause_ = std::min(nextPause_ * 2, longestPause);
  for (const Line& line : lines_) {
    for (const auto& queued : line) pauseAtMost(longestPauseOf(*queued));
  }
  if (sessions_.empty()) failWaiting();
}

void Pool::pauseAtMost(nanoseconds length) {
  if (!pause_.isSet() || around_.now() + length >= pauseEnds_) return;
  pause_.setIn(length);
  pauseEnds_ = around_.now() + length;
}

/// A job that came during the attempt waits for the next one: the attempt may have had less time than this job
/// has.
void Pool::failWaiting() {
  Line failed;
  for (Line& line : lines_) {
    for (auto& queued : std::exchange(line, {})) {
      const bool waited = arrivalOf(*queued) <= attemptBegan_;
      (waited ? failed : line).push_back(std::move(queued));
    }
  }
  for (auto& queued : failed) answer(std::move(queued), noConnectionReply("no connection"));
}

JobReply Pool::noConnectionReply(const std::string& why) const {
  JobReply reply{.commit = JobReply::Commit::notSent, .why = why, .cause = JobReply::Cause::transient};
  if (!failure_) return reply;
  reply.why += ": " + failure_->text;
  reply.cause = failure_->cause;
  if (!failure_->serverError.sqlState.empty()) reply.error = failure_->serverError;
  return reply;
}

std::unique_ptr<QueuedJob> Pool::takeFromLine(const QueuedJob& queued) {
  for (Line& line : lines_) {
    const auto at = std::find_if(line.begin(), line.end(), [&](const auto& one) { return one.get() == &queued; });
    if (at == line.end()) continue;
    std::unique_ptr<QueuedJob> taken = std::move(*at);
    line.erase(at);
    return taken;
  }
  return nullptr;
}

/// A connection that gave no answer is dropped, because a late answer would belong to nobody. If others have stood idle
/// since before that job was sent, they may be as dead: a line that was cut says nothing.
void Pool::outOfTime(QueuedJob& queued) {
  const std::string limit = inMillis(queued.timeout);
  if (auto waiting = takeFromLine(queued)) {
    return answer(std::move(waiting), noConnectionReply("no connection was free within " + limit));
  }
  const auto at = std::find_if(sessions_.begin(), sessions_.end(),
                               [&](const auto& session) { return session->queued() == &queued; });
  if (at == sessions_.end()) return;
  const std::shared_ptr<Session> silent = *at;
  closeIdleSince(queued.due - queued.timeout, 0);
  silent->lose("the server gave no answer within " + limit);
}

void Pool::sessionIsFree(Session& session) {
  allBusySince_.reset();
  if (sessions_.size() > 1 && !surplus_.isSet()) surplus_.setIn(idleTime);
  if (warms_ && !cold_.isSet() && session.wantsWarmUp()) cold_.setIn(warmUpAfter);
  serve();
}

void Pool::keepWarm() {
  warms_ = !options_.warmUp.statements.empty();
  cold_.setIn(warmUpAfter);
}

void Pool::warmUp() {
  for (const auto& session : std::vector{sessions_}) {
    if (!session->wantsWarmUp()) continue;
    auto queued = std::make_unique<QueuedJob>(
        options_.warmUp, [](const JobReply& /*any*/) {}, longestConnect, around_.now() + longestConnect);
    queued->keeper = this;
    around_.alarms.set(*queued, queued->due);
    session->warmUp(std::move(queued));
  }
}

void Pool::sessionIsLost(Session& session, bool wasNoPrimary) {
  drop(session);
  if (wasNoPrimary) closeIdleSince(around_.now(), 0);  // they lead to the same server
  serve();
}

void Pool::closeSurplus() {
  closeIdleSince(around_.now() - idleTime, 1);
  if (sessions_.size() > 1) surplus_.setIn(idleTime);
}

void Pool::closeIdleSince(nanoseconds moment, std::size_t atLeast) {
  const auto isOld = [&](const auto& session) { return session->isFree() && session->freeSince() <= moment; };
  for (;;) {
    const auto at = std::find_if(sessions_.begin(), sessions_.end(), isOld);
    if (at == sessions_.end() || sessions_.size() <= atLeast) return;
    drop(*std::shared_ptr<Session>{*at});
  }
}

void Pool::drop(const Session& session) {
  const auto at =
      std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& one) { return one.get() == &session; });
  if (at != sessions_.end()) sessions_.erase(at);
}

std::vector<std::pair<std::unique_ptr<QueuedJob>, JobReply>> Pool::closeAll() {
  const std::string why = "the store was closed";
  std::vector<std::pair<std::unique_ptr<QueuedJob>, JobReply>> open;
  attempt_.stop();
  pause_.clear();
  further_.clear();
  surplus_.clear();
  cold_.clear();
  for (const auto& session : std::exchange(sessions_, {})) {
    if (auto ended = session->close(why); ended.first) open.push_back(std::move(ended));
  }
  for (Line& line : lines_) {
    for (auto& queued : std::exchange(line, {})) {
      open.emplace_back(std::move(queued), JobReply{.why = why, .cause = JobReply::Cause::transient});
    }
  }
  return open;
}

}  // namespace tenure::postgresql_store
