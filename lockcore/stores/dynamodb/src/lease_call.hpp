// The calls about one lease: what they send and how the answers become outcomes.
#pragma once

#include <functional>
#include <string_view>

#include "core.hpp"
#include "errors.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/stored/decisions.hpp"
#include "replies.hpp"

namespace tenure::dynamodb_store {

/// A call that changes a lease. Shared by the handlers of its requests; answers once.
struct LeaseCall {
  CorePtr core;
  LeaseKey key;
  Deadline deadline;
  WriteHandler handler;
  std::string_view doing;    ///< "renewing"
  bool leavesVersion{true};  ///< shows in the record whether a copy of the request was applied
  /// What the rule of a write (lockcore/stored/decisions.hpp) makes of a state for this call.
  std::function<stored::Decision(const Pair&)> decide{};

  [[nodiscard]] CallName name() const { return {core->where, doing, &key}; }
  [[nodiscard]] Subject subject() const { return {core->layout, core->where, key}; }
};
using LeaseCallPtr = std::shared_ptr<LeaseCall>;

/// The lock item and the counter's item. Each is read strongly consistently, but not both at one moment.
using PairHandler = std::function<void(StoreResult<Pair>)>;
void readPair(const CorePtr& core, const LeaseKey& key, std::string_view doing, const Deadline& deadline,
              PairHandler handler);

/// The counter's item is read only where there is no lock item.
void readLease(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, ReadHandler handler);
void askToStepDown(const LeaseCallPtr& call, const StepDownRequest& request);

/// The condition of a write did not hold. Answers what the rule says of the state that the service returned, or else of
/// the state as it is read now.
void answerConflict(const LeaseCallPtr& call, const std::optional<boost::json::object>& image);

/// A request of a write was answered with an error.
void answerFault(const LeaseCallPtr& call, const Fault& fault);

/// remove(): deletes the lock item if it has this version; the counter keeps what it knew.
void removeLease(const LeaseCallPtr& call, RecordVersion version);

/// write() for all three purposes.
void writeLease(const LeaseCallPtr& call, WriteRequest request);

/// An operator's correction of a lease's tokens (token_recovery.cpp).
void readTokens(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, TokensHandler handler);

/// One transaction on the condition that both items are as `expected`; `Applied` once a read shows what it set.
void setTokens(const LeaseCallPtr& call, const StoredTokens& expected, FencingToken token);

}  // namespace tenure::dynamodb_store
