// The data of a memory store: what a table of lease records does, without threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure {

/// Not thread-safe. Keys and requests were checked before.
class MemoryTable {
 public:
  [[nodiscard]] std::optional<LeaseRecord> read(const LeaseKey& key) const;
  [[nodiscard]] WriteOutcome write(const WriteRequest& request);
  [[nodiscard]] std::vector<ListedLease> list(const std::string& prefix) const;
  [[nodiscard]] WriteOutcome remove(const LeaseKey& key, const RecordVersion& version);
  [[nodiscard]] WriteOutcome requestStepDown(const LeaseKey& key, FencingToken token);

 private:
  struct Row {
    LeaseRecord record;
    FencingToken stepDown;  ///< the term that was asked to step down
    bool removed{false};    ///< only the fencing counter is left
  };

  [[nodiscard]] bool holds(const WriteRequest& request) const;
  [[nodiscard]] std::optional<FencingToken> nextToken(const WriteRequest& request) const;
  [[nodiscard]] WriteOutcome acquire(const WriteRequest& request);
  [[nodiscard]] WriteOutcome keepTerm(const WriteRequest& request);

  std::map<LeaseKey, Row> rows_;                    // the record's token is the fencing counter
  std::map<LeaseKey, FencingToken> removedTokens_;  // and this is where there was a record
};

}  // namespace tenure
