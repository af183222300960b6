#include "contained_executor.hpp"

#include <utility>

#include "user_code.hpp"

namespace tenure {

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

}  // namespace tenure
