// What the writes about one lease share: how they judge the stored state, and what proves that they were applied.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "lease_call.hpp"
#include "requests.hpp"
#include "token_plan.hpp"

namespace tenure::dynamodb_store {

/// A write under way; its handlers share this object.
struct Ownership {
  LeaseCallPtr call;
  WriteRequest request;
  TokenPlan plan{};        ///< for the term that the write leaves in the record
  CounterState counter{};  ///< the counter as the write leaves it

  [[nodiscard]] const CorePtr& core() const noexcept { return call->core; }
  [[nodiscard]] WriteDetails details() const;
  /// Whether the request expects this record, or this open term where there is no record.
  [[nodiscard]] bool isExpected(const Pair& pair) const;
};
using OwnershipPtr = std::shared_ptr<Ownership>;

/// Reads both items and continues with them. An error is answered with `Rejected`, because nothing was sent yet.
void withPair(const OwnershipPtr& write, const std::function<void(Pair)>& next);

/// Sends a transaction. Its answer has no content that only the table could know. So a success is believed only once
/// `proof` has read the items back.
using Proof = void (*)(const OwnershipPtr& write);
void transact(const OwnershipPtr& write, std::string body, Proof proof);

/// Applied if the lock item has the version, holder and token that this write gave it; else Unknown.
void proveWritten(const OwnershipPtr& write);
/// Applied if there is no lock item and the counter is as this write left it; else Unknown.
void proveRemoved(const OwnershipPtr& write);

/// remove(), and the release that keeps no record.
void removeItem(const OwnershipPtr& write);

}  // namespace tenure::dynamodb_store
