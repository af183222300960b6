// The table is checked once, before the first write: a table that cannot keep the promises is never written.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core.hpp"
#include "errors.hpp"

namespace tenure::dynamodb_store {

class TableCheck : public std::enable_shared_from_this<TableCheck> {
 public:
  /// Empty: the table may be used.
  using Continuation = std::function<void(std::optional<StoreError>)>;

  explicit TableCheck(CorePtr core) : core_{std::move(core)} {}

  /// Continues at once if the table passed before. Otherwise it continues after DescribeTable; callers at the same time
  /// share one request. Inside this call it only continues without an error.
  void pass(const Deadline& deadline, Continuation continuation);

  /// ensureSchema() found the table good.
  void markPassed() noexcept { passed_ = true; }

 private:
  struct Waiting {
    Deadline until;
    std::vector<Continuation> others;
  };

  [[nodiscard]] bool joins(const Deadline& deadline, Continuation& continuation);
  [[nodiscard]] std::optional<StoreError> verdictOn(const aws::JsonOutcome& outcome);

  const CorePtr core_;
  std::atomic<bool> passed_{false};
  std::mutex mutex_;
  std::shared_ptr<Waiting> current_;  // guarded by mutex_
};

}  // namespace tenure::dynamodb_store
