#include "memory_table.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

#include "../../../src/mutants.hpp"

namespace tenure {
namespace {

/// What the row is to be: the request's state whole, but for the payload that it leaves in place.
LeaseRecord merged(const WriteRequest& request, const LeaseRecord* stored) {
  LeaseRecord next = request.record;
  next.data = mergedData(request.dataRule, request.record.data, stored == nullptr ? nullptr : &stored->data);
  if (stored != nullptr && next.attributes.empty()) next.attributes = stored->attributes;
  return next;
}

}  // namespace

std::optional<LeaseRecord> MemoryTable::read(const LeaseKey& key) const {
  const auto row = rows_.find(key);
  if (row == rows_.end() || row->second.removed) return std::nullopt;
  return row->second.record;
}

WriteOutcome MemoryTable::write(const WriteRequest& request) {
  if (!holds(request)) return Conflict{read(request.key)};
  return request.purpose == WriteRequest::Purpose::acquire ? acquire(request) : keepTerm(request);
}

bool MemoryTable::holds(const WriteRequest& request) const {
  const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
  const auto row = rows_.find(request.key);
  if (row == rows_.end() || row->second.removed) return acquires && request.expected.empty();
  if (acquires && mutant::on(Mutant::memoryTakesUnconditionally)) return true;
  if (!acquires && mutant::on(Mutant::memoryRenewsUnconditionally)) return true;
  const LeaseRecord& stored = row->second.record;
  if (!acquires && stored.holder != request.record.holder) return false;
  return std::find(request.expected.begin(), request.expected.end(), stored.version) != request.expected.end();
}

std::optional<FencingToken> MemoryTable::nextToken(const WriteRequest& request) const {
  FencingToken highest = request.tokenFloor;
  if (const auto row = rows_.find(request.key); row != rows_.end())
    highest = std::max(highest, row->second.record.token);
  if (const auto removed = removedTokens_.find(request.key); removed != removedTokens_.end())
    highest = std::max(highest, removed->second);
  if (highest >= maxFencingToken) return std::nullopt;
  return mutant::on(Mutant::memoryTokenStays) && !highest.isNone() ? highest : highest.next();
}

WriteOutcome MemoryTable::acquire(const WriteRequest& request) {
  const auto token = nextToken(request);
  if (!token) return Rejected{tokensExhausted(request.key)};
  const auto row = rows_.find(request.key);
  LeaseRecord next = merged(request, row == rows_.end() || row->second.removed ? nullptr : &row->second.record);
  next.token = *token;
  next.released = false;
  rows_[request.key] = Row{std::move(next), FencingToken{}};
  return Applied{*token};
}

WriteOutcome MemoryTable::keepTerm(const WriteRequest& request) {
  Row& row = rows_.at(request.key);
  LeaseRecord next = merged(request, &row.record);
  next.token = row.record.token;
  next.released = request.purpose == WriteRequest::Purpose::release;
  row.removed = next.released && request.removes;
  row.record = std::move(next);
  return Applied{row.record.token, row.stepDown == row.record.token};
}

std::vector<ListedLease> MemoryTable::list(const std::string& prefix) const {
  std::vector<ListedLease> found;
  for (auto row = rows_.lower_bound(LeaseKey{prefix}); row != rows_.end(); ++row) {
    if (!row->first.name.starts_with(prefix)) break;
    if (!row->second.removed) found.push_back({row->first, row->second.record});
  }
  return found;
}

WriteOutcome MemoryTable::remove(const LeaseKey& key, const RecordVersion& version) {
  const auto row = rows_.find(key);
  if (row == rows_.end() || row->second.record.version != version) return Conflict{read(key)};
  const FencingToken token = row->second.record.token;
  FencingToken& kept = removedTokens_[key];
  kept = std::max(kept, token);
  rows_.erase(row);
  return Applied{token};
}

WriteOutcome MemoryTable::requestStepDown(const LeaseKey& key, FencingToken token) {
  const auto row = rows_.find(key);
  if (row == rows_.end() || row->second.removed) return Conflict{std::optional<LeaseRecord>{}};
  const LeaseRecord& stored = row->second.record;
  if (stored.released || stored.token != token) return Conflict{std::optional{stored}};
  row->second.stepDown = token;
  return Applied{token, true};
}

}  // namespace tenure
