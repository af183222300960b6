// The notices that a session gets from its driver, on the scheduler, and passes on to users, on its lane.
#include <utility>

#include "lock_session.hpp"
#include "lockcore/port/lock_errors.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void LockSession::take(const LeaseNotice& notice) {
  std::visit([this](const auto& n) { on(n); }, notice);
}

void LockSession::on(const action::Elected& elected) {
  payload_ = elected.payload ? elected.payload : std::make_shared<const LeasePayload>();
  bool wanted = false;
  {
    const std::lock_guard lock{mutex_};
    data_ = payload_->data;
    wanted = bool{acquired_};
    if (wanted) handles_ = 1;
  }
  token_.store(elected.token.value());
  // It was cancelled while the acquisition was under way: nobody wants the lock any more.
  if (!wanted) return driver_->submit(event::Release{{}, request_.options.deleteOnRelease});
  dropLimit();
  const std::shared_ptr<StopSignal> stop{shared_from_this(), &stop_};
  watch_ = common_->watch({cell_, token(), stop, driver_, common_->stopTokens});
  log(LogLevel::debug, "acquired with fencing token " + toString(elected.token), LogEvent::lockAcquired,
      {{"token", elected.token}});
  decide(handle(shared_from_this()));
}

void LockSession::on(const action::Renewed& renewed) { finishChanges(renewed.ticket, std::nullopt); }

/// What remains has changed, so each warning may fall due earlier than its timer says.
void LockSession::on(const action::Publish& /*published*/) {
  for (const auto& weak : warnings_) {
    const auto scheduler = common_->scheduler.lock();
    const auto warning = weak.lock();
    if (!scheduler || !warning) continue;
    scheduler->cancel(warning->timer);
    watch(warning);
  }
}

/// Of what else becomes of a change, the end of the lock tells.
void LockSession::on(const action::Recorded& recorded) {
  if (recorded.outcome == action::Recorded::Outcome::refused) finishChanges(recorded.last, recorded.error);
}

/// These changes are in the record, except data that the store has refused.
void LockSession::finishChanges(std::uint64_t upTo, const std::optional<StoreError>& error) {
  std::vector<Change> done;
  {
    const std::lock_guard lock{mutex_};
    const auto later =
        std::stable_partition(changes_.begin(), changes_.end(), [&](const Change& c) { return c.ticket > upTo; });
    std::move(later, changes_.end(), std::back_inserter(done));
    changes_.erase(later, changes_.end());
    for (const Change& change : done) {
      if (change.data && !error) data_ = *change.data;
      if (change.lease) leaseMillis_.store(change.lease->count());
    }
  }
  for (Change& change : done) {
    const bool refused = error && change.data;
    change.done(refused ? LockResult<void>{refusedError(*error)} : LockResult<void>{});
  }
}

LockError LockSession::refusedError(const StoreError& error) const {
  LockError bad = storeError(key(), error);
  bad.message = "the store refuses the data of lock " + toString(key()) +
                ", which is still held, with the data that it had before: " + error.message;
  return bad;
}

void LockSession::on(const action::InDoubt& doubt) {
  const std::int64_t millis = doubt.remaining / milliseconds{1};
  log(LogLevel::warn, "in doubt: " + doubt.error.message + "; held for " + std::to_string(millis) + " ms more",
      LogEvent::lockInDoubt, {{"error", doubt.error.message}, {"remaining_ms", millis}});
}

void LockSession::on(const action::Revoked& revoked) {
  const bool lost = !letGo_.load() && lose({revoked.reason, whyRevoked(revoked, watch_.get()), revoked.token});
  if (!lost) fireStop();
}

void LockSession::fireStop() {
  if (stop_.fireUnheard()) return;
  // On a separate thread, because user code may block in it.
  common_->stopTokens->post([self = shared_from_this()] { self->stop_.fire(); });
}

/// False if there was nothing to lose, or if it was lost before.
bool LockSession::lose(const TermEnd& loss) {
  std::vector<std::function<void(const TermEnd&)>> callbacks;
  {
    const std::lock_guard lock{mutex_};
    if (token().isNone() || letGo_.load() || loss_) return false;
    over_.store(true);
    loss_ = loss;
    callbacks.swap(lostCallbacks_);
  }
  fireStop();  // who is woken by it sees why, and no sink of the log delays it (I6)
  log(wasWanted(loss.reason) ? LogLevel::info : LogLevel::warn,
      "lost (" + std::string{toString(loss.reason)} + ": " + loss.detail + "), fencing token " + toString(loss.token));
  failChanges(lostError());
  for (auto& callback : callbacks) tell("onLost", [callback = std::move(callback), loss] { callback(loss); });
  return true;
}

/// A user who gets this answer may try again at once, so the client must know before that this session is over.
void LockSession::on(const action::GaveUp& gaveUp) {
  if (gaveUp.releasesFirst) return decide(gaveUpError(gaveUp));
  gaveUp_ = std::make_unique<const LockError>(gaveUpError(gaveUp));
}

LockError LockSession::gaveUpError(const action::GaveUp& gaveUp) const {
  if (gaveUp.reason == GiveUpReason::missing) {
    return error(LockErrc::missing, "has no record, and mustExist forbids making one");
  }
  if (gaveUp.error && gaveUp.releasesFirst) {
    LockError unknown = unknownError();
    unknown.store = gaveUp.error;
    unknown.message += ": " + gaveUp.error->message;
    return unknown;
  }
  if (gaveUp.error) return storeError(key(), *gaveUp.error);
  const milliseconds patience = request_.options.waitFor.value_or(milliseconds{0});
  const bool oneLook = patience == milliseconds{0};
  const std::string waited = oneLook ? "" : ", after a wait of " + std::to_string(patience.count()) + " ms";
  LockError held = error(oneLook ? LockErrc::held : LockErrc::timeout, "is held by another" + waited);
  if (!gaveUp.holder) return held;
  held.holder = gaveUp.holder;
  held.message = "lock " + toString(key()) + " is held by " + describe(*gaveUp.holder) + waited;
  return held;
}

void LockSession::on(const action::Stopped& stopped) {
  watch_.reset();
  dropLimit();
  std::vector<Released> releases;
  Ended ended;
  std::unique_ptr<PlaceInLine> line;
  {
    const std::lock_guard lock{mutex_};
    line.swap(line_);
    result_ = stopped.result;
    over_.store(true);
    releases.swap(releases_);
    ended.swap(ended_);
  }
  if (line) line->leave(stopped.memory);
  line.reset();  // first, so that the next one's request is under way while this one's end is reported
  failChanges(lostError());
  // The client comes first, so that a user who gets the end may acquire again at once.
  const std::shared_ptr<void> leaving = ended ? ended(stopped.result, stopped.memory) : nullptr;
  decide(gaveUp_ ? *gaveUp_ : error(cancelled_.value_or(LockErrc::cancelled), "was cancelled before it was decided"));
  for (const Released& release : releases) release(stopped.result);
  driver_->close();  // last: it may have to wait a moment for a thread that is submitting an event
}

void LockSession::decide(LockResult<Lock> result) {
  Acquired acquired;
  {
    const std::lock_guard lock{mutex_};
    acquired.swap(acquired_);
  }
  if (acquired) acquired(std::move(result));
}

/// Checks again when the remaining time may have fallen so low, and, once this was reported, when the lease would be
/// over.
void LockSession::watch(const std::shared_ptr<Warning>& warning) {
  if (over_.load()) return;
  const TermState known = state();
  const nanoseconds left = known.remainingAt(now());
  if (left <= nanoseconds{0}) return;
  const bool low = left <= warning->before;
  if (low && !std::exchange(warning->told, true)) tell("onExpiring", [warning, left] { warning->callback(left); });
  if (!low) warning->told = false;
  const auto scheduler = common_->scheduler.lock();
  if (!scheduler) return;
  warning->timer = scheduler->schedule(low ? left : left - warning->before, [weak = weak_from_this(), warning] {
    if (const auto self = weak.lock()) self->watch(warning);
  });
}

void LockSession::tell(const char* name, std::function<void()> task) const {
  lane_->post([common = common_, name, task = std::move(task), lease = toString(key())] {
    if (const auto what = whatThrown(task)) {
      common->logger.log(LogLevel::error, lease + ": " + name + " threw: " + *what);
    }
  });
}

/// The lock is a key of each event, and comes first.
void LockSession::log(LogLevel level, const std::string& line, LogEvent event,
                      std::initializer_list<LogField> fields) const {
  if (!common_->logger.wants(level)) return;
  const std::string lock = toString(key());
  const std::string text = lock + ": " + line;
  std::vector<LogField> all;
  if (event != LogEvent::message) all.push_back({"lock", lock});
  all.insert(all.end(), fields.begin(), fields.end());
  common_->logger.write({level, text, event, all});
}

}  // namespace tenure
