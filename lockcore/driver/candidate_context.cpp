#include "candidate_context.hpp"

#include <utility>

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
  Executor contained = containedExecutor(std::move(executor), ThreadPool::forCallbacks(), logger, std::move(name));
  return std::make_shared<const CandidateContext>(CandidateContext{std::move(store), scheduler, scheduler->clock(),
                                                                   std::move(logger), std::move(candidate),
                                                                   std::move(contained), ThreadPool::forStopTokens()});
}

std::shared_ptr<TermWatch> CandidateContext::watch(WatchedTerm term, const std::string& lease) const {
  if (clock != systemClock()) return nullptr;
  auto watch = watchTerm(std::move(term));
  if (!watch) {
    logger.log(LogLevel::warn, lease +
                                   ": no thread can be started to watch the deadlines, so the stop token comes late "
                                   "if the scheduler is blocked");
  }
  return watch;
}

void CandidateContext::findLivenessFile(const std::string& owner,
                                        std::function<void(std::optional<LivenessFile>)> found) const {
  const auto without = [logger = logger, owner](const std::string& why) {
    logger.log(LogLevel::warn, owner + ": no death notice for this process: " + why);
  };
  std::shared_ptr<DeathNotice> notice;
  if (const auto error = storeErrorOf([&] { notice = store->deathNotice(); })) without(error->message);
  if (!notice) return found(std::nullopt);
  ThreadPool::forCallbacks()->post([notice, without, found = std::move(found)] {
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
    found(std::move(livenessFile));
  });
}

}  // namespace tenure
