#include "candidate_context.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

/// Callbacks must run whatever the user's executor does, or a term would never end: where it throws, or is empty,
/// threads of `pool` take over.
Executor containedExecutor(Executor executor, std::shared_ptr<ThreadPool> pool, Logger logger, std::string name) {
  if (!executor) return [pool = std::move(pool)](std::function<void()> task) { pool->post(std::move(task)); };
  return [executor = std::move(executor), pool = std::move(pool), logger = std::move(logger),
          name = std::move(name)](std::function<void()> task) {
    const auto what = whatThrown([&] { executor(task); });
    if (!what) return;
    logger.log(LogLevel::error,
               name + ": the executor threw (" + *what + "); the callback runs on a thread of the library's own");
    pool->post(std::move(task));
  };
}

}  // namespace

std::shared_ptr<const CandidateContext> CandidateContext::make(std::shared_ptr<LeaseStore> store,
                                                               const std::shared_ptr<Scheduler>& scheduler,
                                                               Logger logger, std::string candidate, Executor executor,
                                                               std::string name) {
  const auto pool = ThreadPool::forCallbacks();
  const bool isOwn = !executor;
  Executor contained = containedExecutor(std::move(executor), pool, logger, std::move(name));
  auto watchdog = scheduler->clock() == systemClock() ? keepWatchdog() : nullptr;
  return std::make_shared<const CandidateContext>(
      CandidateContext{std::move(store), scheduler, scheduler->clock(), std::move(logger), std::move(candidate),
                       std::move(contained), ThreadPool::forStopTokens(), isOwn ? pool : nullptr, std::move(watchdog)});
}

std::shared_ptr<TermWatch> CandidateContext::watch(WatchedTerm term) const {
  return watchdog ? watchTerm(std::move(term)) : nullptr;
}

std::optional<std::string> CandidateContext::whyNothingRuns(std::chrono::milliseconds waited) const {
  std::optional<std::string> why =
      callbacks ? callbacks->whyTasksWait() : std::optional<std::string>{"the executor has not run it"};
  if (why) *why = "did not begin within " + std::to_string(waited.count()) + " ms: " + *why;
  return why;
}

namespace {

/// How often it is looked whether there is an answer. So a loop of the user's has work no longer than this after it.
constexpr std::chrono::milliseconds lookEvery{100};

/// The first answer is the one that counts.
class OneAnswer : public std::enable_shared_from_this<OneAnswer> {
 public:
  using Found = std::function<void(std::optional<LivenessFile>)>;
  explicit OneAnswer(Found found) : found_{std::move(found)} {}

  /// False: there was an answer before.
  bool give(std::optional<LivenessFile> livenessFile) {
    if (given_.exchange(true)) return false;
    std::exchange(found_, nullptr)(std::move(livenessFile));
    return true;
  }

  /// Only on the scheduler.
  void await(const std::weak_ptr<Scheduler>& on, std::chrono::nanoseconds patience, std::function<void()> without) {
    const auto scheduler = given_.load() ? nullptr : on.lock();
    if (!scheduler) return;
    if (patience > std::chrono::nanoseconds{0}) {
      scheduler->schedule(std::min<std::chrono::nanoseconds>(patience, lookEvery),
                          [self = shared_from_this(), on, patience, without = std::move(without)] {
                            self->await(on, patience - lookEvery, without);
                          });
    } else if (give(std::nullopt)) {
      without();
    }
  }

 private:
  std::atomic<bool> given_{false};
  Found found_;  ///< used by the one that gives the answer
};

}  // namespace

void CandidateContext::findLivenessFile(const LivenessSearch& search, OneAnswer::Found found) const {
  const auto without = [logger = logger, owner = search.owner](const std::string& why) {
    logger.log(LogLevel::warn, owner + ": no death notice for this process: " + why);
  };
  std::shared_ptr<DeathNotice> notice;
  if (const auto error = storeErrorOf([&] { notice = extended(store)->deathNotice(); })) without(error->message);
  if (!notice) return found(std::nullopt);
  const auto answer = std::make_shared<OneAnswer>(std::move(found));
  ThreadPool::forCallbacks()->post([notice, without, answer] {
    std::optional<LivenessFile> livenessFile;
    const auto error = storeErrorOf([&] {
      StoreResult<LivenessFile> made = notice->livenessFile();
      if (made) {
        livenessFile = *std::move(made);
      } else {
        without(made.error().message);
      }
    });
    if (error) without(error->message);
    answer->give(std::move(livenessFile));
  });
  search.onScheduler([answer, on = scheduler, patience = search.patience, without] {
    answer->await(on, patience, [without] { without("no thread was free to make its file"); });
  });
}

}  // namespace tenure
