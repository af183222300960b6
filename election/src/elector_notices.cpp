// The notices that the elector gets from its driver, on the scheduler, and passes on to its listeners, on the lanes.
#include <algorithm>
#include <utility>
#include <vector>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/candidate_id.hpp>

#include "elector_impl.hpp"
#include "leader_document.hpp"
#include "lockcore/runtime/output_writer.hpp"

namespace tenure {

using std::chrono::nanoseconds;

namespace {

constexpr const char* terminationLine =
    "the work still runs as the lease ends: this process ends itself (on_lost: terminate)";

std::string describe(const LeaderInfo& leader) {
  if (const auto pause = pauseIn(leader.holder)) return "the lease is " + toString(*pause);
  return "the leader is " + personOf(leader.holder) + " " + withToken(leader.token) +
         (leader.address.empty() ? "" : ", at " + leader.address);
}

}  // namespace

/// The group is a key of each event, and comes first.
void ElectorImpl::log(LogLevel level, const std::string& line, LogEvent event,
                      std::initializer_list<LogField> fields) const {
  if (!context_->logger.wants(level)) return;
  const std::string group = toString(key_);
  const std::string text = group + ": " + line;
  std::vector<LogField> all;
  if (event != LogEvent::message) all.push_back({"group", group});
  all.insert(all.end(), fields.begin(), fields.end());
  context_->logger.write({level, text, event, all});
}

void ElectorImpl::take(const LeaseNotice& notice) {
  std::visit([this](const auto& n) { on(n); }, notice);
  if (part_.onNotice) part_.onNotice(notice);
}

/// Data of the elector's own (part_.data) are no document.
std::shared_ptr<TermHandle> ElectorImpl::termOf(const action::Elected& elected) {
  if (part_.data.empty()) {
    if (!documents_) {
      auto documents =
          std::make_shared<DocumentWrites>(key_, context_->logger, group_.store(), driver_, DocumentWrites::Origin{});
      const std::lock_guard lock{mutex_};
      documents_ = std::move(documents);
    }
    documents_->begin(elected.token, elected.payload ? elected.payload->data : std::string{}, elected.origin);
  }
  return std::make_shared<TermHandle>(group_.name(), candidate(), elected.token, cell_, driver_, context_->clock,
                                      documents_);
}

void ElectorImpl::on(const action::Elected& elected) {
  const auto term = termOf(elected);
  term->watch = watched(term);
  {
    const std::lock_guard lock{mutex_};
    term_ = term;
  }
  log(LogLevel::info, "elected with fencing token " + toString(elected.token), LogEvent::elected,
      {{"token", elected.token}});
  stateSelf(*term);
  termLane_->post([self = shared_from_this(), term] { self->runElected(term); });
  if (listeners_.wants(&Listener::onElected)) lookAtWork(term, group_.timing().duration());
}

/// Its work was not told to stop.
bool ElectorImpl::leads(const std::shared_ptr<TermHandle>& term) const {
  const std::lock_guard lock{mutex_};
  return term_ == term;
}

/// A leader whose work cannot begin keeps everybody else from leading. Nothing of the term is reported then.
void ElectorImpl::lookAtWork(const std::weak_ptr<TermHandle>& of, nanoseconds after) {
  const auto scheduler = context_->scheduler.lock();
  if (!scheduler) return;
  workTimer_ = scheduler->schedule(after, [weak = weak_from_this(), of] {
    const auto self = weak.lock();
    const auto term = of.lock();
    if (!self) return;
    self->workTimer_.reset();
    if (!term || term->work.load() == TermWork::begun) return;
    const auto why = self->context_->whyNothingRuns(self->group_.timing().duration());
    if (why && self->leads(term) && term->settle(TermWork::never)) {
      term->ended->store(true);
      self->driver_->submit(event::WorkFailed{"onElected " + *why, RevokeReason::notStarted, false});
    }
    self->lookAtWork(of, self->group_.timing().heartbeat());
  });
}

void ElectorImpl::dropLookAtWork() {
  const auto id = std::exchange(workTimer_, std::nullopt);
  if (const auto scheduler = id ? context_->scheduler.lock() : nullptr) scheduler->cancel(*id);
}

/// Nothing depends on whether it arrives: the lease matters more than what a leader says about itself.
void ElectorImpl::stateSelf(const TermHandle& term) const {
  const CandidateOptions& own = group_.options().candidate;
  const LeaderStatement statement{own.address, own.priority};
  if (statement == LeaderStatement{} || !term.documents) return;
  const auto change = [token = term.token, statement](const std::string& text) -> StoreResult<std::string> {
    if (auto document = withStatement(text, token, statement)) return *std::move(document);
    return StoreError{ErrorClass::corrupt, "the record has data that are not tenure's, and they are left as they are"};
  };
  term.updateDocument(change, [weak = weak_from_this()](const DocumentAnswer& answer) {
    const auto self = answer.kind == DocumentAnswer::Kind::refused ? weak.lock() : nullptr;
    if (self) self->log(LogLevel::warn, "address and priority are not in the record: " + answer.why);
  });
}

std::shared_ptr<TermWatch> ElectorImpl::watched(const std::shared_ptr<TermHandle>& term) const {
  std::shared_ptr<const Termination> termination;
  if (group_.options().onLost == OnLost::terminate) {
    termination = std::make_shared<const Termination>(
        Termination{lostExitCode, context_->logger, toString(key_) + ": " + terminationLine, term->ended});
  }
  const std::shared_ptr<StopSignal> stop{term, &term->stop};
  return context_->watch({cell_, term->token, stop, driver_, context_->stopTokens, std::move(termination)});
}

void ElectorImpl::on(const action::Revoked& revoked) {
  const std::shared_ptr<TermHandle> term = takeTerm();
  if (!term) return;  // the destructor's wait was over, and it was quicker
  endTerm(term, {revoked.reason, whyRevoked(revoked, term->watch.get()), revoked.token});
  const bool mayRun = term->work.load() != TermWork::never;
  if (mayRun && group_.options().onLost == OnLost::terminate) watchLostWork(term);
}

/// The caller that gets the term tells the work to stop, so that happens exactly once (I5).
std::shared_ptr<TermHandle> ElectorImpl::takeTerm() {
  const std::lock_guard lock{mutex_};
  if (term_) endedLast_ = term_;
  return std::exchange(term_, nullptr);
}

void ElectorImpl::endTerm(const std::shared_ptr<TermHandle>& term, TermEnd why) {
  // The stop token fires on a separate thread, because user code may block in it, and a blocked lane must not delay it
  // (I6).
  context_->stopTokens->post([term] { term->stop.fire(); });
  const std::string reason{toString(why.reason)};
  log(wasWanted(why.reason) ? LogLevel::info : LogLevel::warn,
      "revoked (" + reason + (why.detail.empty() ? "" : ": " + why.detail) + "), fencing token " + toString(why.token),
      LogEvent::revoked, {{"token", why.token}, {"reason", reason}, {"detail", why.detail}});
  termLane_->post([self = shared_from_this(), term, why = std::move(why)] { self->runRevoked(term, why); });
}

/// OnLost::terminate: the process ends itself if work of the term is still running when the lease's validity ends. The
/// watchdog enforces that deadline. This function checks at every heartbeat, because validity may also end early, when
/// another owner is found.
void ElectorImpl::watchLostWork(const std::shared_ptr<TermHandle>& term) {
  if (endedTerm_.load() >= term->token.value()) return;
  const TermState state = term->state();
  const Instant now = context_->clock->now();
  if (!state.validAt(now)) {
    log(LogLevel::error, terminationLine);
    stderrWriter().flush(std::chrono::milliseconds{5});
    std::_Exit(lostExitCode);
  }
  const nanoseconds left = state.validFor - elapsedForHolder(state.anchor, now);
  const std::shared_ptr<Scheduler> scheduler = context_->scheduler.lock();
  if (!scheduler) return;
  scheduler->schedule(std::min<nanoseconds>(left, group_.timing().heartbeat()), [weak = weak_from_this(), term] {
    if (const auto self = weak.lock()) self->watchLostWork(term);
  });
}

void ElectorImpl::on(const action::Renewed& renewed) {
  if (documents_) documents_->answer(0, renewed.ticket, {DocumentAnswer::Kind::recorded});
  if (renewed.afterDoubt) {
    log(LogLevel::info, "no longer in doubt: the lease is renewed", LogEvent::doubtEnded, {{"token", renewed.token}});
  }
  tell(&Listener::onRenewed, Renewal{renewed.token, renewed.afterDoubt});
}

void ElectorImpl::on(const action::Recorded& recorded) {
  if (!documents_) return;
  documents_->answer(
      recorded.first, recorded.last,
      {recorded.outcome,
       recorded.error ? recorded.error->message : std::string{"the term ended before the store acknowledged it"}});
}

void ElectorImpl::on(const action::InDoubt& doubt) {
  const std::int64_t millis = doubt.remaining / std::chrono::milliseconds{1};
  log(LogLevel::warn, "in doubt: " + doubt.error.message + "; leads for " + std::to_string(millis) + " ms more",
      LogEvent::inDoubt, {{"error", doubt.error.message}, {"remaining_ms", millis}});
  tell(&Listener::onInDoubt, Doubt{doubt.error, doubt.remaining});
}

void ElectorImpl::on(const action::LeaderChanged& changed) {
  if (!changed.leader) {
    log(LogLevel::info, "there is no leader", LogEvent::leaderChanged, {});
  } else if (!changed.leader->self) {
    const LeaderInfo& leader = *changed.leader;
    log(LogLevel::info, describe(leader), LogEvent::leaderChanged,
        {{"leader", leader.holder}, {"token", leader.token}, {"address", leader.address}});
  }
  if (reclaims_) reclaims_->leaderChanged(changed.leader);
  tell(&Listener::onLeaderChanged, LeaderNotice{changed.leader});
}

/// A thousand leaders renew all the time, so a notice without a listener must not wake a thread.
template <class Callback>
void ElectorImpl::tell(Callback Listener::*callback, Notice notice) {
  if (!listeners_.wants(callback)) return;
  const NoticeQueue::Pushed pushed = notices_.push(std::move(notice));
  if (pushed.beganToDrop) log(LogLevel::warn, "a callback does not return, so notices are dropped, the oldest first");
  if (pushed.mustRun) noticeLane_->post([self = shared_from_this()] { self->runNotices(); });
}

void ElectorImpl::on(const action::Stopped& stopped) {
  dropLookAtWork();
  const std::string result{toString(stopped.result)};
  log(LogLevel::info, "stopped (" + result + ")", LogEvent::candidateStopped, {{"result", result}});
  if (documents_) documents_->close();
  bool abandoned = false;
  {
    const std::lock_guard lock{mutex_};
    abandoned = abandoned_;
    result_ = stopped.result;
    answering_ = true;
  }
  answerStops();
  {
    const std::lock_guard lock{mutex_};
    answering_ = false;
    stopped_.notify_all();
  }
  if (abandoned) closeDriver();
}

void ElectorImpl::runElected(const std::shared_ptr<TermHandle>& term) {
  if (!term->settle(TermWork::begun)) return;
  if (const auto failure = listeners_.call("onElected", &Listener::onElected, leadershipUnder(term))) {
    driver_->submit(event::WorkFailed{*failure});
  }
}

void ElectorImpl::runRevoked(const std::shared_ptr<TermHandle>& term, const TermEnd& why) {
  term->stop.awaitFired(std::chrono::seconds{1});  // in any case it fires before onRevoked
  if (term->work.load() == TermWork::begun) listeners_.call("onRevoked", &Listener::onRevoked, why);
  endedTerm_.store(term->token.value());
  term->ended->store(true);
  term->watch.reset();
  if (!term->documents) return driver_->submit(event::WorkEnded{});
  // After the last changes of the document, which are asked for on the scheduler too.
  static_cast<void>(driver_->schedule(nanoseconds{0}, [self = shared_from_this(), term] {
    term->documents->finish();
    self->driver_->submit(event::WorkEnded{});
  }));
}

void ElectorImpl::runNotices() {
  while (const auto notice = notices_.pop()) {
    std::visit([this](const auto& n) { run(n); }, *notice);
  }
}

}  // namespace tenure
