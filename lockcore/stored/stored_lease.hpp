// What a store keeps of one lease, as it was read in one step: a record and a fencing counter. For stores that read,
// decide, and write back what they decided under the condition that nothing has changed since.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_store.hpp>

namespace tenure::stored {

struct StoredRecord {
  LeaseRecord record;
  FencingToken stepDown{};  ///< the term that was asked to step down

  friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

/// Without one: nothing of it.
struct Counter {
  FencingToken token{};
  std::chrono::milliseconds openLease{0};  ///< the lease of a term that has not ended cleanly; 0: there is none

  friend bool operator==(const Counter&, const Counter&) = default;
};

struct TENURE_API StoredLease {
  /// A number of the whole store at the time of the reading, which outlives records and counters. The next token is
  /// above it.
  std::uint64_t revision{0};
  /// Nothing at all is stored of the lease. So nothing tells whether it was always so.
  bool nothing{false};
  /// Empty: there is no record. An error if it is not understood, as the next one.
  StoreResult<std::optional<StoredRecord>> record{std::optional<StoredRecord>{}};
  StoreResult<Counter> counter{Counter{}};
  /// The present history of a store that has several (RecordVersion::history()).
  std::string history{};
  bool inherited{false};  ///< what is stored belongs to an earlier history (LeaseRecord::inherited)
  /// Why the term of the record is not renewed, although its version is as expected; empty: it is.
  std::optional<StoreError> over{};
  std::string warning{};  ///< what an operator must know when a token follows on this; empty: nothing

  /// What a read answers.
  [[nodiscard]] ReadOutcome told() const;
};

}  // namespace tenure::stored
