// What the calls of one store share. A call that is under way keeps it, so it is answered even when the store is gone.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "database.hpp"
#include "jobs.hpp"
#include "notifier.hpp"
#include "outcomes/judge.hpp"
#include "record_codec.hpp"

namespace tenure::postgresql_store {

using Deadline = CallDeadline;

class StoreCore {
 public:
  StoreCore(std::weak_ptr<Database> database, std::string where, std::string schema, std::string table, Logger logger,
            std::shared_ptr<Scheduler> scheduler);

  /// `doing`: with the lease's name, `renewing lease "billing"`.
  [[nodiscard]] Call call(std::string doing) const { return {where_, schema_, table_, std::move(doing)}; }
  [[nodiscard]] const Place& place() const noexcept { return place_; }
  [[nodiscard]] Notifier& notifier() const noexcept { return *notifier_; }
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }
  [[nodiscard]] const std::shared_ptr<Scheduler>& scheduler() const noexcept { return scheduler_; }
  [[nodiscard]] Deadline deadline(std::chrono::nanoseconds timeout) const { return {scheduler_->clock(), timeout}; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
  [[nodiscard]] const std::string& table() const noexcept { return table_; }

  /// Runs the job, and once more without the history functions if the server does not have them. `core` is what keeps
  /// this object.
  static void run(const std::shared_ptr<StoreCore>& core, Job job, const Deadline& deadline, JobHandler handler);

  /// Answers a call without asking the database.
  template <class Outcome>
  void post(std::function<void(Outcome)> handler, Outcome outcome) const {
    scheduler_->post(
        [handler = std::move(handler), outcome = std::move(outcome)]() mutable { handler(std::move(outcome)); });
  }

 private:
  void sendAgain(const std::shared_ptr<StoreCore>& core, Job job, const Deadline& deadline, JobHandler handler);
  void servedWithoutHistory();

  const std::weak_ptr<Database> database_;
  const std::string where_;
  const std::string schema_;
  const std::string table_;
  const Place place_;
  const std::shared_ptr<Notifier> notifier_;
  const Logger logger_;
  const std::shared_ptr<Scheduler> scheduler_;
  std::atomic<bool> hasHistory_{true};
  std::atomic<int> perhapsNone_{0};  ///< how often in a row a job was perhaps refused for its history alone
};

using CorePtr = std::shared_ptr<StoreCore>;

}  // namespace tenure::postgresql_store
