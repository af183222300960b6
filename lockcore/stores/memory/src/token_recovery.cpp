// LeaseStore::readTokens and setTokens.
#include <algorithm>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "memory_table.hpp"

namespace tenure {

StoredTokens MemoryTable::tokens(const LeaseKey& key) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return {};
  const Row& row = found->second;
  StoredTokens out{.counter = toString(row.counter), .lease = row.openLease};
  if (!row.record) return out;
  out.copy = toString(row.record->token);
  out.version = row.record->version.text();
  out.holder = row.record->holder;
  out.released = row.record->released;
  out.lease = std::max(out.lease, row.record->leaseDuration);
  return out;
}

WriteOutcome MemoryTable::setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token) {
  if (tokens(key) != expected) return Conflict{};
  Row& row = rows_[key];
  row.counter = token;
  row.openLease = {};
  row.stepDown = {};
  if (!row.record) return Applied{token};
  SystemRandom random;
  row.record->token = token;
  row.record->released = true;
  row.record->version = RecordVersion{uuid4(random)};
  return Applied{token};
}

}  // namespace tenure
