// What a write does, decided from what is stored. Pure.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/register.hpp>

#include "lockcore/port/extended_store.hpp"

namespace tenure::stored {

/// The tokens of a lease that was understood.
[[nodiscard]] TENURE_API StoredTokens tokensOf(const StoredLease& lease);

/// The outcome that needs no write, or the change.
using Decision = std::variant<WriteOutcome, Change>;
using Decide = std::function<Decision(const StoredLease&)>;

[[nodiscard]] TENURE_API Decision decideWrite(const std::string& where, const WriteRequest& request,
                                              const StoredLease& stored);
[[nodiscard]] TENURE_API Decision decideRemoval(const RecordVersion& version, const StoredLease& stored);
[[nodiscard]] TENURE_API Decision decideStepDown(const StepDownRequest& request, const StoredLease& stored);
/// `stored`: what an operator sees now; `version`: what the record gets.
[[nodiscard]] TENURE_API Decision decideTokens(const StoreResult<StoredTokens>& stored, const StoredTokens& expected,
                                               FencingToken token, const std::string& version);

}  // namespace tenure::stored
