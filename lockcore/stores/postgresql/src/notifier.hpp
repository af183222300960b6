// Tells the listeners of a table which leases have changed. NOTIFY holds a lock of the whole cluster until its COMMIT
// is over, so one commit that hangs in any database stops every other that notifies. No write depends on that: a
// notification is a job of its own.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "database.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::postgresql_store {

/// A notification that fails is not repeated, because a candidate that missed one reads the record at its next poll. At
/// most one job is under way, so a server where notifications hang has one connection of them. Thread-safe.
class Notifier : public std::enable_shared_from_this<Notifier> {
 public:
  static constexpr std::chrono::seconds patience{2};

  Notifier(std::weak_ptr<Database> database, std::string channel)
      : database_{std::move(database)}, channel_{std::move(channel)} {}

  /// Returns at once. Leases that change while a job is under way go together with the next one.
  void tell(const LeaseKey& key);
  /// Sends what still waits beside the job that is under way, because the store ends.
  void sendRest();

 private:
  void send(const std::set<std::string>& payloads);
  void answered();

  const std::weak_ptr<Database> database_;
  const std::string channel_;
  std::mutex mutex_;
  std::set<std::string> waiting_{};  ///< guarded by mutex_, as the next one
  bool underWay_{false};
};

}  // namespace tenure::postgresql_store
