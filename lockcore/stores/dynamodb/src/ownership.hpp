// What the writes about one lease share: how they judge what is stored, and what proves that they were applied.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "lease_call.hpp"
#include "requests.hpp"
#include "token_plan.hpp"

namespace tenure::dynamodb_store {

/// A write under way; its handlers share it.
struct Ownership {
  LeaseCallPtr call;
  WriteRequest request;
  TokenPlan plan{};        ///< of the term that the write leaves
  CounterState counter{};  ///< that the write leaves

  [[nodiscard]] const CorePtr& core() const noexcept { return call->core; }
  [[nodiscard]] WriteDetails details() const;
  /// Whether the record, or the open term where there is none, is one that the request expects.
  [[nodiscard]] bool isExpected(const Pair& pair) const;
};
using OwnershipPtr = std::shared_ptr<Ownership>;

/// Reads both items and goes on with what they say; an error is answered with `Rejected`, as nothing was sent yet.
void withPair(const OwnershipPtr& write, const std::function<void(Pair)>& next);

/// Sends a transaction. Its answer has no content that only the table could tell, so a success is believed once
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
