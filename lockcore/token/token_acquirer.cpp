#include "token_acquirer.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/store_answer.hpp"
#include "lockcore/runtime/thread.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "token_write.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// With a wait of zero: how long the store may take, and how long it may take to prove a holder dead (the kernel's
/// proof needs a moment). As for `tenure run --wait 0s`.
constexpr milliseconds firstAnswerTimeout{5'000};
constexpr milliseconds deathProofTime{200};
/// How long an unanswered write is taken back while the caller has time.
constexpr milliseconds takeBackTime{1'000};
/// The longest time for one call of the store.
constexpr milliseconds longestCall{5'000};
constexpr milliseconds shortestCall{1};
/// The longest time for creating a table, which takes DynamoDB seconds; after that its state is asked for again.
constexpr milliseconds longestMaking{60'000};

bool isLastingClass(ErrorClass errorClass) {
  return errorClass != ErrorClass::transient && errorClass != ErrorClass::throttled;
}

}  // namespace

/// News from other threads: that the record may have changed (any number of times), and which holder's death is proven.
class TokenAcquirer::Inbox {
 public:
  void hint() {
    const std::lock_guard lock{mutex_};
    hinted_ = true;
    news_.notify_one();
  }
  void proveDead(const std::string& livenessFile) {
    const std::lock_guard lock{mutex_};
    proven_ = livenessFile;  // only one holder is followed at a time: the present one
    news_.notify_one();
  }
  /// Everything that has come, the proof first; waits for something for up to `bound`.
  [[nodiscard]] std::vector<LeaseEvent> take(nanoseconds bound) {
    std::unique_lock lock{mutex_};
    news_.wait_for(lock, bound, [this] { return hinted_ || proven_; });
    std::vector<LeaseEvent> told;
    if (const auto dead = std::exchange(proven_, std::nullopt)) told.emplace_back(event::HolderProvenDead{*dead});
    if (std::exchange(hinted_, false)) told.emplace_back(event::StoreHint{});
    return told;
  }

 private:
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable news_{};
  bool hinted_{false};
  std::optional<std::string> proven_{};
};

TokenAcquirer::TokenAcquirer(std::shared_ptr<LeaseStore> store, MachineOptions options,
                             std::optional<milliseconds> waitFor, Logger logger)
    : store_{std::move(store)},
      options_{std::move(options)},
      waitFor_{waitFor},
      logger_{std::move(logger)},
      machine_{options_, random_},
      began_{readClock()},
      inbox_{std::make_shared<Inbox>()} {}

TokenAcquirer::~TokenAcquirer() = default;

LockResult<TokenAcquirer::Won> TokenAcquirer::run() {
  callsEndIn_ = boundOfWait();
  hints_ = orNull(logger_, options_.key, "notification of changes",
                  [this] { return store_->watch(options_.key, [inbox = inbox_] { inbox->hint(); }); });
  pump(event::Start{});
  while (!won_ && !isOver(readClock())) pause(untilOver(readClock()).value_or(nanoseconds::max()));
  hints_.reset();
  deathWatch_.reset();
  if (won_) return *won_;
  const std::optional<StoreError> before = lastError_;
  const nanoseconds left = callsLeft(readClock());
  if (!machine_.acquisitionOpen() || left > nanoseconds{0}) takeBack(std::min<nanoseconds>(takeBackTime, left));
  if (failure_ || !rival_) lastError_ = before;  // else the take-back has seen a rival that came since
  const LockError why = whyNot();
  if (!stopped_) takeBackLater();
  return why;
}

nanoseconds TokenAcquirer::boundOfWait() const {
  if (!waitFor_) return nanoseconds::max();
  return waitFor_->count() > 0 ? saturating::in<nanoseconds>(*waitFor_) : nanoseconds{firstAnswerTimeout};
}

nanoseconds TokenAcquirer::callsLeft(const Instant& now) const {
  return callsEndIn_ == nanoseconds::max() ? callsEndIn_ : callsEndIn_ - elapsedForHolder(began_, now);
}

/// At most what is left of the caller's wait, and at most the limit for a store that hangs.
nanoseconds TokenAcquirer::limited(nanoseconds timeout) const {
  return std::max<nanoseconds>(std::min<nanoseconds>({callsLeft(readClock()), timeout, longestCall}), shortestCall);
}

/// Steps until nothing is left to do now. Store calls are made here, so their answers become the next events.
void TokenAcquirer::pump(LeaseEvent first) {
  events_.push_back(std::move(first));
  while (!events_.empty() && !won_) {
    const LeaseEvent event = std::move(events_.front());
    events_.pop_front();
    for (const LeaseAction& action : machine_.step(readClock(), event)) perform(action);
  }
}

void TokenAcquirer::perform(const LeaseAction& action) {
  if (won_) return;
  if (const auto* read = std::get_if<action::SendRead>(&action)) {
    look(*read);
  } else if (const auto* write = std::get_if<action::SendWrite>(&action)) {
    send(*write);
  } else if (std::holds_alternative<action::Elected>(action)) {
    won_ = Won{ownVersion_, machine_.term(), acquiredAtMillis_};
  } else if (const auto* watched = std::get_if<action::FollowHolder>(&action)) {
    follow(watched->record);
  } else if (const auto* stopped = std::get_if<action::Stopped>(&action)) {
    stopped_ = stopped->result;
  } else if (const auto* line = std::get_if<action::Log>(&action)) {
    logger_.log(line->level, toString(options_.key) + ": " + line->line);
  }
}

void TokenAcquirer::look(const action::SendRead& request) {
  const bool looksAgain = request.mayBeLate && waitFor_ != milliseconds{0};
  ReadOutcome outcome = readAnswer(*store_, options_.key, limited(request.timeout), looksAgain);
  const bool unusable = outcome.has_error() && outcome.error().errorClass == ErrorClass::misconfigured;
  // A table that existed and has vanished is a loss; no caller that waits may create it again.
  if (unusable && !looked_) outcome = readOnceMade(request);
  if (outcome) {
    lastError_.reset();
    note(*outcome);
  } else {
    noteFailure(outcome.error());
  }
  events_.emplace_back(event::ReadReply{request.attempt, outcome});
}

/// Perhaps only the table is missing. The schema is not checked before the first read: where everything exists, the
/// read shows that too, so the check costs the acquisition nothing.
ReadOutcome TokenAcquirer::readOnceMade(const action::SendRead& request) {
  const nanoseconds patience = std::min<nanoseconds>(callsLeft(readClock()), longestMaking);
  if (const StoreStatus made = schemaAnswer(*store_, std::max<nanoseconds>(patience, shortestCall)); !made) {
    return made.error();
  }
  return readAnswer(*store_, options_.key, limited(request.timeout));
}

void TokenAcquirer::send(const action::SendWrite& request) {
  const bool acquires = request.request.purpose == WriteRequest::Purpose::acquire;
  if (acquires) acquiredAtMillis_ = request.request.record.acquiredAtMillis;
  const WriteOutcome outcome = writeAnswer(*store_, request.request, limited(request.timeout));
  lastError_.reset();
  if (std::holds_alternative<Applied>(outcome)) {
    ownVersion_ = request.request.record.version;
  } else if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    if (conflict->current) note(*conflict->current);
  } else if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    lastError_ = rejected->error;
  } else {
    lastError_ = std::get<Unknown>(outcome).error;
  }
  if (acquires) failure_ = lastError_;
  events_.emplace_back(event::WriteReply{request.attempt, outcome});
}

/// A look that was cut short by the end of the wait says nothing about the store: what earlier calls showed stays.
void TokenAcquirer::noteFailure(const StoreError& error) {
  const bool cutShort = looked_ && !isLastingClass(error.errorClass) && callsLeft(readClock()) <= nanoseconds{0};
  if (cutShort && (lastError_ || !rival_)) return;
  lastError_ = error;
  failedLooks_ += cutShort ? 0 : 1;
}

void TokenAcquirer::note(const std::optional<LeaseRecord>& record) {
  looked_ = true;
  failedLooks_ = 0;
  const bool own = record && record->holder == options_.holder;
  if (own) ownVersion_ = record->version;
  if (!record || record->released || own) return rival_.reset();
  if (!rival_ || rival_->version != record->version) {
    rivalSince_ = readClock();
    failure_.reset();
  }
  rival_ = record;
}

void TokenAcquirer::follow(const std::optional<LeaseRecord>& record) {
  deathWatch_.reset();
  if (!record) return;
  const std::string livenessFile = record->livenessFile->id;  // the machine follows only holders that have one
  const auto tell = [inbox = inbox_, livenessFile](const RecordVersion&) { inbox->proveDead(livenessFile); };
  deathWatch_ = orNull(logger_, options_.key, "death notice", [&]() -> std::shared_ptr<void> {
    const std::shared_ptr<DeathNotice> notice = extended(store_)->deathNotice();
    return notice ? notice->follow(*record, tell) : nullptr;
  });
}

/// Waits until the machine wants to act, until there is news, or until the bound.
void TokenAcquirer::pause(nanoseconds bound) {
  const auto wanted = machine_.untilWakeup(readClock());
  // The machine always wants to poll again; the day only bounds what no clock library can count.
  const nanoseconds wait =
      std::clamp<nanoseconds>(std::min(bound, wanted.value_or(bound)), nanoseconds{0}, std::chrono::hours{24});
  std::vector<LeaseEvent> told = inbox_->take(wait);
  if (told.empty()) return pump(event::Wakeup{});
  for (LeaseEvent& event : told) pump(std::move(event));
}

/// With a wait of zero one answer decides. Otherwise errors that may pass are waited out, and other errors end the
/// wait.
bool TokenAcquirer::isOver(const Instant& now) const {
  if (lastError_ && isLastingClass(lastError_->errorClass)) return true;
  if (!waitFor_) return false;
  const nanoseconds waited = elapsedForHolder(began_, now);
  if (waitFor_->count() > 0) return waited >= boundOfWait();
  if (lastError_ || waited >= firstAnswerTimeout) return true;
  return rival_ && (!deathWatch_ || elapsedForHolder(rivalSince_, now) >= deathProofTime);
}

std::optional<nanoseconds> TokenAcquirer::untilOver(const Instant& now) const {
  if (!waitFor_) return std::nullopt;
  if (waitFor_->count() > 0) return boundOfWait() - elapsedForHolder(began_, now);
  return rival_ ? deathProofTime - elapsedForHolder(rivalSince_, now) : deathProofTime;
}

/// An unanswered acquisition may have won, or may still win. The machine releases what it finds of it.
void TokenAcquirer::takeBack(nanoseconds longest) {
  const Instant from = readClock();
  callsEndIn_ = elapsedForHolder(began_, from) + longest;
  pump(event::Stop{});
  while (!stopped_ && elapsedForHolder(from, readClock()) < longest) pause(takeBackTime / 10);
}

/// In the background, for one lease. If no thread is available for it, or a store that hangs has had many already, the
/// lock ends with its lease.
void TokenAcquirer::takeBackLater() {
  static std::atomic<int> running{0};
  constexpr int most = 16;
  const auto end = [] { --running; };
  if (++running > most) return end();
  try {
    detail::startDetachedThread("tenure-takeback", [self = shared_from_this(), end] {
      self->takeBack(self->options_.timing.duration());
      end();
    });
  } catch (const std::system_error&) {
    end();
  }
}

LockError TokenAcquirer::whyNot() const {
  const std::string name = "lock " + toString(options_.key);
  const bool open = !stopped_ || *stopped_ == ReleaseResult::unknown;
  if (open) {
    return {LockErrc::unknown,
            name + " was not granted, and it is not known whether a write of owner " +
                shown(options_.holder, mostOfHolder) +
                " arrived; if one did, the lock is released while this process lives, or ends with its lease" +
                (lastError_ ? ": " + lastError_->message : ""),
            std::nullopt, lastError_};
  }
  // One look that failed hides neither a failed acquisition nor the rival. A store that is silent for longer does, and
  // so does what has to be mended.
  const bool hides = lastError_ && (failedLooks_ > 1 || isLastingClass(lastError_->errorClass));
  if (failure_ && !hides) return storeFailure(*failure_);
  if (rival_ && !hides) return heldByRival(name);
  if (lastError_) return storeFailure(*lastError_);
  return {LockErrc::timeout, name + " was not granted in time; no holder was seen at the end"};
}

LockError TokenAcquirer::heldByRival(const std::string& name) const {
  const std::string since = lastError_ ? "; the last read of it failed: " + lastError_->message : "";
  if (rival_->vanished) {
    return {LockErrc::held,
            name + " no longer has a record, but its holder may still act (fencing token " + toString(rival_->token) +
                "): the lock is free after the lease of that term, " + std::to_string(rival_->leaseDuration.count()) +
                " ms" + since,
            std::nullopt, lastError_};
  }
  const HolderInfo holder = holderIn(*rival_, elapsedForHolder(rivalSince_, readClock()));
  return {LockErrc::held, name + " " + holderText(holder) + since, holder, lastError_};
}

}  // namespace tenure
