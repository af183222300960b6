// Before the first write the table is looked at once: one that cannot keep the promise is never written.
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

  /// Continues at once if the table was found good before; else after DescribeTable, of which callers at the same
  /// time share one. Inside this call only ever continues without an error.
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
