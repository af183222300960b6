// ensureSchema() for all candidates of a process: they share one check of the table.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core.hpp"
#include "errors.hpp"
#include "table_check.hpp"

namespace tenure::dynamodb_store {

class TableCheck;

/// One call. It lives until it is answered. Its steps run one after the other, on the client's and the scheduler's
/// threads.
class SchemaFlow : public std::enable_shared_from_this<SchemaFlow> {
 public:
  SchemaFlow(CorePtr core, std::shared_ptr<TableCheck> check, const Deadline& deadline, StatusHandler handler);
  void start() { describe(); }

 private:
  using Step = void (SchemaFlow::*)();
  using Next = void (SchemaFlow::*)(const ParsedReply&);

  void request(std::string_view operation, std::string body, std::string_view doing, Next next);
  void describe();
  void described(const ParsedReply& reply);
  void create();
  void created(const ParsedReply& reply);
  void waitThen(Step step, const std::string& forWhat);
  void configure();
  void recoveryEnabled(const ParsedReply& reply);
  void enableTtl();
  void ttlEnabled(const ParsedReply& reply);
  void lookAtTtl();
  void ttlDescribed(const ParsedReply& reply);
  void finish();
  void fail(StoreError error) { handler_(std::move(error)); }

  const CorePtr core_;
  const std::shared_ptr<TableCheck> check_;
  const Deadline deadline_;
  const StatusHandler handler_;
  bool isOurs_{false};  ///< this call created the table, so it also sets the table's further options
  std::chrono::nanoseconds pause_{std::chrono::milliseconds{250}};
  std::chrono::nanoseconds waited_{0};
};

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
