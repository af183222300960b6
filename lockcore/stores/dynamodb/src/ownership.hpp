// What the writes about one lease share: what the rule of a write makes of both items, and what proves that a write was
// applied.
#pragma once

#include <memory>

#include "lease_call.hpp"
#include "lockcore/stored/decisions.hpp"
#include "requests.hpp"

namespace tenure::dynamodb_store {

/// A write under way; its handlers share this object.
struct Ownership {
  LeaseCallPtr call;
  WriteRequest request;
  bool byOperator{false};   ///< remove(), whoever holds the lease; the request has only what is expected
  stored::Change change{};  ///< what was decided from both items

  [[nodiscard]] const CorePtr& core() const noexcept { return call->core; }
  [[nodiscard]] WriteDetails details() const;
  /// What the rule of a write says (lockcore/stored/decisions.hpp).
  [[nodiscard]] stored::Decision decisionFrom(const Pair& pair) const;
};
using OwnershipPtr = std::shared_ptr<Ownership>;

/// Reads both items and continues with them and the change that the write makes of them. Any other outcome is answered:
/// nothing was sent yet.
using WithChange = void (*)(const OwnershipPtr& write, const Pair& pair);
void decide(const OwnershipPtr& write, WithChange next);

/// Sends a transaction. Its answer has no content that only the table could know. So a success is believed only once a
/// read shows what was written.
void transact(const OwnershipPtr& write, std::string body);

}  // namespace tenure::dynamodb_store
