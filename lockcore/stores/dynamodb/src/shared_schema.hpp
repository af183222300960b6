// ensureSchema() for all candidates of a process: they share one check of the table.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core.hpp"
#include "table_check.hpp"

namespace tenure::dynamodb_store {

/// A process with thousands of leases calls ensureSchema() thousands of times, and the rate of DescribeTable is limited
/// for the whole account. Thread-safe.
class SharedSchema : public std::enable_shared_from_this<SharedSchema> {
 public:
  SharedSchema(CorePtr core, std::shared_ptr<TableCheck> check) : core_{std::move(core)}, check_{std::move(check)} {}

  /// Joins a check under way if that ends in time, and uses a good result that is less than half a minute old. The
  /// handler is called once, never inside this call.
  void ensure(const Deadline& deadline, StatusHandler handler);

 private:
  struct Look {
    Deadline until;
    std::vector<StatusHandler> waiting;
  };

  [[nodiscard]] bool wasSeenGood() const;
  void finished(const std::shared_ptr<Look>& look, const StoreStatus& status);

  const CorePtr core_;
  const std::shared_ptr<TableCheck> check_;
  mutable std::mutex mutex_;         ///< guards what follows; not held while a handler runs
  std::shared_ptr<Look> current_{};  ///< the newest check that is under way
  std::optional<Instant> goodAt_{};
};

}  // namespace tenure::dynamodb_store
