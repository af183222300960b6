#include "credential_cache.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/saturating_time.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/runtime/thread.hpp"
#include "refresh_plan.hpp"

namespace tenure::aws {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds never = nanoseconds::max();
constexpr nanoseconds forcedAtMostEvery = std::chrono::seconds{2};
/// Also after a success: a source may give nothing but keys that end in a second.
constexpr nanoseconds fetchedAtMostEvery = std::chrono::milliseconds{500};

/// This clock counts suspend, because credentials also expire during suspend.
nanoseconds now() { return readClock().boottime; }

/// What was fetched and lets no call go on is a failure, so that the next fetch waits as after any other.
StoreResult<Credentials> onlyUsable(StoreResult<Credentials> got) {
  if (!got || !got->lifetime || usableFor(*got->lifetime).count() > 0) return got;
  return StoreError{ErrorClass::credentials, got->source +
                                                 " gave credentials that have expired already; check the "
                                                 "clock of this machine, and the source of the credentials"};
}

}  // namespace

/// Shared with the threads, so that the cache may be destroyed on its own thread.
struct CredentialCache::State : std::enable_shared_from_this<State> {
  struct Waiter {
    nanoseconds deadline;
    Current refused;
    Ready ready;
  };
  using Answer = std::pair<Ready, StoreResult<Current>>;

  State(Fetch fetchWith, Logger log) : fetch{std::move(fetchWith)}, logger{std::move(log)} {}

  [[nodiscard]] Current usable(nanoseconds at) const { return at < usableUntil ? latest : nullptr; }

  void enqueue(Waiter waiter) {
    {
      const std::lock_guard lock{mutex};
      // The steps that may throw come first. A keeper that was told to stop is not replaced: it answers everybody
      // before it ends.
      if (!keeper.joinable() && !stop.stop_requested()) {
        keeper = detail::startThread("tenure-aws", [self = shared_from_this()] { self->keep(); });
      }
      waiters.push_back(std::move(waiter));
      poked = true;
    }
    changed.notify_all();
  }

  void keep() {
    std::unique_lock lock{mutex};
    while (!stop.stop_requested()) {
      std::vector<Answer> answers = takeAnswers(now());
      if (!answers.empty()) {
        give(lock, std::move(answers));
        continue;
      }
      if (wantsFetch(now())) {
        startFetch(lock);
        continue;
      }
      const nanoseconds until = nextWake();
      const auto ready = [&] { return std::exchange(poked, false) || stop.stop_requested(); };
      // It wakes at least once a minute, because the wait does not count suspend.
      changed.wait_for(lock, std::clamp(until - now(), nanoseconds{0}, nanoseconds{std::chrono::minutes{1}}), ready);
    }
    while (!waiters.empty()) {
      std::vector<Answer> last;
      for (Waiter& waiter : waiters) {
        last.emplace_back(std::move(waiter.ready), StoreError{ErrorClass::transient, "the client was closed"});
      }
      waiters.clear();
      give(lock, std::move(last));
    }
    if (fetcher.joinable()) {
      lock.unlock();
      fetcher.join();
    }
  }

  /// Answers without the mutex, because a caller that gets its answer may call again or destroy the cache.
  static void give(std::unique_lock<std::mutex>& lock, std::vector<Answer> answers) {
    lock.unlock();
    for (auto& [ready, result] : answers) ready(std::move(result));
    answers.clear();
    lock.lock();
  }

  std::vector<Answer> takeAnswers(nanoseconds at) {
    std::vector<Answer> out;
    std::erase_if(waiters, [&](Waiter& waiter) {
      auto answer = answerFor(waiter, at);
      if (!answer) return false;
      out.emplace_back(std::move(waiter.ready), *std::move(answer));
      return true;
    });
    return out;
  }

  std::optional<StoreResult<Current>> answerFor(const Waiter& waiter, nanoseconds at) const {
    const Current good = usable(at);
    const bool other = good != nullptr && good != waiter.refused;
    const bool tooSoonAgain = good != nullptr && !fetching && at < saturating::sum(fetchedAt, forcedAtMostEvery);
    if (other || tooSoonAgain) return good;
    if (!fetching && lastError && at < retryAt) return *lastError;
    if (at < waiter.deadline) return std::nullopt;
    return StoreError{ErrorClass::transient,
                      "no AWS credentials within the time of the call: the search for them is still under way" +
                          (lastError ? "; the attempt before failed: " + lastError->message : std::string{})};
  }

  [[nodiscard]] bool wantsFetch(nanoseconds at) const {
    return !fetching && at >= retryAt && (!waiters.empty() || at >= refreshAt);
  }

  [[nodiscard]] nanoseconds nextWake() const {
    nanoseconds out = fetching ? never : std::max(refreshAt, retryAt);
    for (const Waiter& waiter : waiters) out = std::min(out, waiter.deadline);
    return out;
  }

  /// Calls need the mutex to get the current credentials, so the mutex is released while the former thread ends.
  void startFetch(std::unique_lock<std::mutex>& lock) {
    fetching = true;
    if (fetcher.joinable()) {
      lock.unlock();
      fetcher.join();
      lock.lock();
    }
    try {
      fetcher = detail::startThread("tenure-aws-get", [self = shared_from_this()] { self->fetchOnce(); });
    } catch (const std::exception& fault) {
      const auto* ofSystem = dynamic_cast<const std::system_error*>(&fault);
      finishFetch(StoreError{ErrorClass::credentials, "no thread can be started to fetch AWS credentials: " +
                                                          (ofSystem ? errnoText(ofSystem->code()) : fault.what())});
    }
  }

  void fetchOnce() {
    StoreResult<Credentials> got = StoreError{};
    try {
      got = onlyUsable(fetch(stop.get_token()));
    } catch (const std::exception& fault) {
      got = StoreError{ErrorClass::credentials, std::string{"fetching AWS credentials: "} + fault.what()};
    }
    if (!stop.stop_requested()) tell(got);
    {
      const std::lock_guard lock{mutex};
      finishFetch(std::move(got));
      poked = true;
    }
    changed.notify_all();
  }

  /// Called with the mutex held.
  void finishFetch(StoreResult<Credentials> got) {
    const nanoseconds at = now();
    fetching = false;
    if (!got) {
      ++failures;
      const auto left = at < usableUntil && usableUntil != never ? std::optional{usableUntil - at} : std::nullopt;
      retryAt = saturating::sum(at, retryAfter(failures, left, random));
      lastError = got.error();
      return;
    }
    failures = 0;
    retryAt = saturating::sum(at, fetchedAtMostEvery);
    lastError.reset();
    fetchedAt = at;
    usableUntil = got->lifetime ? saturating::sum(at, usableFor(*got->lifetime)) : never;
    refreshAt = got->lifetime ? saturating::sum(at, refreshAfter(*got->lifetime, random)) : never;
    latest = std::make_shared<const Credentials>(*std::move(got));
  }

  /// Logs a cause as one warning, however often it occurs. Called on the thread that fetches.
  void tell(const StoreResult<Credentials>& got) {
    const std::string before = std::exchange(toldFailure, got ? std::string{} : got.error().message);
    if (!got) {
      logger.log(before == toldFailure ? LogLevel::debug : LogLevel::warn,
                 "AWS credentials could not be fetched: " + toldFailure);
    } else if (!before.empty()) {
      logger.log(LogLevel::info, "AWS credentials could be fetched again, from " + got->source);
    } else if (logger.wants(LogLevel::debug)) {
      const std::string end = got->lifetime ? ", for " + std::to_string(got->lifetime->count()) + " s" : "";
      logger.log(LogLevel::debug, "AWS credentials from " + got->source + end);
    }
    if (!got) return;
    const std::string warned = std::exchange(toldWarning, got->warning);
    if (!toldWarning.empty()) logger.log(warned == toldWarning ? LogLevel::debug : LogLevel::warn, toldWarning);
  }

  Fetch fetch;
  Logger logger;
  std::string toldFailure{};  ///< used by the fetching thread only; empty: the last fetch succeeded
  std::string toldWarning{};  ///< the same; Credentials::warning of the last fetch that succeeded
  std::stop_source stop{};
  mutable std::mutex mutex{};
  std::condition_variable changed{};
  std::vector<Waiter> waiters{};
  Current latest{};
  nanoseconds usableUntil{0};
  nanoseconds refreshAt{never};
  nanoseconds retryAt{0};
  nanoseconds fetchedAt{-forcedAtMostEvery};
  std::optional<StoreError> lastError{};
  int failures{0};
  bool fetching{false};
  bool poked{false};
  SystemRandom random{};
  std::thread keeper{};
  std::thread fetcher{};
  ProcessMark mark{};
};

CredentialCache::CredentialCache(Fetch fetch, Logger logger)
    : state_{std::make_shared<State>(std::move(fetch), std::move(logger))} {}

CredentialCache::~CredentialCache() {
  // In a forked child the threads do not exist and cannot be joined, and the mutex may stay locked for ever. The
  // threads own the state, so it is kept.
  if (!state_->mark.isHere()) return;
  state_->stop.request_stop();
  std::thread keeper;
  {
    const std::lock_guard lock{state_->mutex};
    keeper = std::move(state_->keeper);
  }
  state_->changed.notify_all();
  detail::leaveThread(keeper);
}

CredentialCache::Current CredentialCache::current() const {
  const std::lock_guard lock{state_->mutex};
  return state_->usable(now());
}

void CredentialCache::wait(nanoseconds timeout, Ready ready) { replace(nullptr, timeout, std::move(ready)); }

void CredentialCache::replace(Current refused, nanoseconds timeout, Ready ready) {
  // `ready` may destroy the cache before this call is over.
  const std::shared_ptr<State> kept = state_;
  kept->enqueue({saturating::sum(now(), timeout), std::move(refused), std::move(ready)});
}

}  // namespace tenure::aws
