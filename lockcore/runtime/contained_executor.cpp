#include "contained_executor.hpp"

#include <exception>
#include <utility>

namespace tenure {

Executor containedExecutor(Executor executor, std::shared_ptr<ThreadPool> pool, Logger logger, std::string name) {
  if (!executor) return [pool = std::move(pool)](std::function<void()> task) { pool->post(std::move(task)); };
  return [executor = std::move(executor), pool = std::move(pool), logger = std::move(logger),
          name = std::move(name)](std::function<void()> task) {
    std::string what = "no std::exception";
    try {
      return executor(task);
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    logger.log(LogLevel::error,
               name + ": the executor threw (" + what + "); the callback runs on a thread of the library's own");
    pool->post(std::move(task));
  };
}

}  // namespace tenure
