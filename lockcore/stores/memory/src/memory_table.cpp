#include "memory_table.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

namespace tenure {
namespace {

/// The row after the write: the request's whole state, except the payload that the request leaves as it is.
LeaseRecord merged(const WriteRequest& request, const LeaseRecord* stored) {
  LeaseRecord next = request.record;
  next.data = mergedData(request.dataRule, request.record.data, stored == nullptr ? nullptr : &stored->data);
  if (stored != nullptr && next.attributes.empty()) next.attributes = stored->attributes;
  return next;
}

}  // namespace

std::optional<LeaseRecord> MemoryTable::stateOf(const Row& row) {
  if (row.record) return row.record;
  if (row.openLease.count() == 0) return std::nullopt;
  return vanishedRecord(row.counter, row.openLease);
}

std::optional<LeaseRecord> MemoryTable::read(const LeaseKey& key) const {
  const auto row = rows_.find(key);
  return row == rows_.end() ? std::nullopt : stateOf(row->second);
}

WriteOutcome MemoryTable::write(const WriteRequest& request) {
  const auto found = rows_.find(request.key);
  Row fresh;
  Row& row = found == rows_.end() ? fresh : found->second;
  if (!holds(request, row)) return Conflict{stateOf(row)};
  if (request.purpose != WriteRequest::Purpose::acquire) return keepTerm(request, row);
  WriteOutcome outcome = acquire(request, row);
  if (found == rows_.end() && std::holds_alternative<Applied>(outcome)) rows_.emplace(request.key, std::move(fresh));
  return outcome;
}

bool MemoryTable::holds(const WriteRequest& request, const Row& row) {
  const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
  const std::optional<LeaseRecord> state = stateOf(row);
  if (!state) return acquires && request.expected.empty();
  if (!row.record && !acquires) return false;
  if (!acquires && state->holder != request.record.holder) return false;
  return std::find(request.expected.begin(), request.expected.end(), state->version) != request.expected.end();
}

WriteOutcome MemoryTable::acquire(const WriteRequest& request, Row& row) {
  if (auto refused = refusalOfFloor(request, row.counter)) return Rejected{*std::move(refused)};
  const FencingToken highest = std::max(request.tokenFloor, row.counter);
  if (highest >= maxFencingToken) return Rejected{tokensExhausted(request.key)};
  LeaseRecord next = merged(request, row.record ? &*row.record : nullptr);
  next.token = highest.next();
  next.released = false;
  row = Row{next, next.token, next.leaseDuration, FencingToken{}};
  return Applied{row.counter};
}

WriteOutcome MemoryTable::keepTerm(const WriteRequest& request, Row& row) {
  const FencingToken token = row.record->token;
  LeaseRecord next = merged(request, &*row.record);
  next.token = token;
  next.released = request.purpose == WriteRequest::Purpose::release;
  // A renewal never lowers the lease that the counter states: a renewal that is under way may have stated a longer one.
  row.openLease = next.released ? std::chrono::milliseconds{0} : std::max(row.openLease, next.leaseDuration);
  row.record = std::move(next);
  if (row.record->released && request.removes) row.record.reset();
  return Applied{token, row.stepDown == token};
}

std::vector<ListedLease> MemoryTable::list(const std::string& prefix) const {
  std::vector<ListedLease> found;
  for (auto row = rows_.lower_bound(LeaseKey{prefix}); row != rows_.end(); ++row) {
    if (!row->first.name.starts_with(prefix)) break;
    if (row->second.record) found.push_back({row->first, *row->second.record});
  }
  return found;
}

WriteOutcome MemoryTable::remove(const LeaseKey& key, const RecordVersion& version) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return Conflict{std::optional<LeaseRecord>{}};
  Row& row = found->second;
  if (!row.record || row.record->version != version) return Conflict{stateOf(row)};
  // The holder may still live: newcomers wait as long as the record would have made them wait.
  row.openLease = row.record->released ? std::chrono::milliseconds{0} : row.record->leaseDuration;
  row.record.reset();
  return Applied{row.counter};
}

WriteOutcome MemoryTable::requestStepDown(const LeaseKey& key, FencingToken token) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return Conflict{std::optional<LeaseRecord>{}};
  Row& row = found->second;
  if (!row.record || row.record->released || row.record->token != token) return Conflict{stateOf(row)};
  row.stepDown = token;
  return Applied{token, true};
}

}  // namespace tenure
