// What every store checks before it looks at its data, so that all stores refuse the same calls in the same words.
#pragma once

#include <optional>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "extended_store.hpp"

namespace tenure {

/// Why no store may serve a call with this key (see faultsOf): a `misconfigured` error with all faults; empty if the
/// key is good. A store answers a read with this error, and a write with `Rejected`.
[[nodiscard]] TENURE_API std::optional<StoreError> errorOf(const LeaseKey& key);

/// The same for a write. Refused are: a bad key; a record without holder or version, or with a lease duration outside
/// of 1 ms .. maxRecordLease; texts that are not UTF-8 or hold a NUL (`data` may hold any bytes); an empty RVN among
/// the expected ones; a token floor above maxFencingToken; a successor whose name no candidate can have; and an
/// attribute named as the store's own (successorAttribute).
[[nodiscard]] TENURE_API std::optional<StoreError> errorOf(const WriteRequest& request);

/// The same for a request to step down: its key, and the successor that it names.
[[nodiscard]] TENURE_API std::optional<StoreError> errorOf(const LeaseKey& key, const StepDownRequest& request);

/// For an acquisition whose floor lies more than maxReportedStep above `known`, the higher one of the counter and the
/// stored record's token: `misconfigured`, answered with `Rejected`. A candidate of an older release may have believed
/// a resource's report without this bound, and must not carry it on.
[[nodiscard]] TENURE_API std::optional<StoreError> errorOfFloor(const WriteRequest& request, FencingToken known);

/// The same for setTokens(): its key, and a token that is zero or above maxFencingToken.
[[nodiscard]] TENURE_API std::optional<StoreError> errorOfRecovery(const LeaseKey& key, FencingToken token);

/// For an acquisition whose token would have to be greater than maxFencingToken: answered with `Rejected`. The
/// counter is never wrapped and never restarted.
[[nodiscard]] TENURE_API StoreError tokensExhausted(const LeaseKey& key);

/// Throws std::invalid_argument with all faults of the options: `DynamoDB store: table is empty; region is empty`.
/// Nothing is thrown if there are none.
TENURE_API void throwIfFaulty(std::string_view what, const OptionFaults& faults);

/// `renewing`
[[nodiscard]] constexpr std::string_view doing(WriteRequest::Purpose purpose) noexcept {
  switch (purpose) {
    case WriteRequest::Purpose::acquire:
      return "acquiring";
    case WriteRequest::Purpose::renew:
      return "renewing";
    case WriteRequest::Purpose::release:
      return "releasing";
  }
  return "writing";
}

}  // namespace tenure
