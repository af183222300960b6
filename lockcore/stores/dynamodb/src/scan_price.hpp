// What repeated listings of a table without a sort key cost: told once.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure::dynamodb_store {

/// A sharded election lists its group twice a second. In a table without a sort key each listing reads, and pays for,
/// the whole table. Nobody sees that in the program, only on the bill. Thread-safe.
class ScanPrice {
 public:
  /// `where` describes the store. `tells`: whether the table has no sort key, which would be the remedy.
  ScanPrice(std::string where, Logger logger, bool tells)
      : where_{std::move(where)}, logger_{std::move(logger)}, tells_{tells} {}

  /// The leases with this prefix were listed; `units`: read units that the service says it took, empty if it does not.
  void listed(const std::string& prefix, const Instant& start, std::optional<double> units);

 private:
  struct Series {
    Instant first{};
    int count{0};
  };

  const std::string where_;
  const Logger logger_;
  const bool tells_;
  std::mutex mutex_;                        ///< guards what follows
  std::map<std::string, Series> series_{};  ///< by prefix
  bool told_{false};
};

/// The warning. `interval`: the mean time between two listings.
[[nodiscard]] std::string scanPriceText(const std::string& prefix, std::chrono::nanoseconds interval,
                                        std::optional<double> units);

}  // namespace tenure::dynamodb_store
