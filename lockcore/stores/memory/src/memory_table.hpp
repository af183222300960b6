// The data of a memory store: what a table of lease records does, without threads.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure {

/// Not thread-safe. The caller has checked keys and requests.
class MemoryTable {
 public:
  [[nodiscard]] std::optional<LeaseRecord> read(const LeaseKey& key) const;
  [[nodiscard]] WriteOutcome write(const WriteRequest& request);
  [[nodiscard]] std::vector<ListedLease> list(const std::string& prefix) const;
  [[nodiscard]] WriteOutcome remove(const LeaseKey& key, const RecordVersion& version);
  [[nodiscard]] StoredTokens tokens(const LeaseKey& key) const;
  [[nodiscard]] WriteOutcome setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token);
  [[nodiscard]] WriteOutcome requestStepDown(const LeaseKey& key, FencingToken token);

 private:
  /// The record, and the fencing counter, which outlives the record.
  struct Row {
    std::optional<LeaseRecord> record;
    FencingToken counter;
    std::chrono::milliseconds openLease{0};  ///< lease of the last term, until that term ended cleanly
    FencingToken stepDown;                   ///< the term that was asked to step down
  };

  /// The state as read() reports it.
  [[nodiscard]] static std::optional<LeaseRecord> stateOf(const Row& row);
  [[nodiscard]] static bool holds(const WriteRequest& request, const Row& row);
  [[nodiscard]] static WriteOutcome acquire(const WriteRequest& request, Row& row);
  [[nodiscard]] static WriteOutcome keepTerm(const WriteRequest& request, Row& row);

  std::map<LeaseKey, Row> rows_;
};

}  // namespace tenure
