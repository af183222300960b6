// What a write does, decided from what is stored. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include <tenure/lockcore/export.hpp>

#include "stored_lease.hpp"

namespace tenure::stored {

/// An operator's change of a record that may not be understood: all else in it stays.
struct Correction {
  FencingToken token;
  std::string version;
};

/// A change of one lease: carried out if the record is as it was read, and the counter too if that is written.
struct Change {
  std::optional<StoredRecord> record{};  ///< written; empty: the record goes, or stays (see `keepsRecord`)
  std::optional<Counter> counter{};      ///< written; empty: it stays as it is
  bool keepsRecord{false};               ///< only the counter changes, and the record as `correction` says
  std::optional<Correction> correction{};
  bool isFirst{false};  ///< it is decided once more when this is done
  Applied applied{};    ///< the outcome

  [[nodiscard]] bool erasesRecord() const noexcept { return !record && !keepsRecord; }
};

/// Carries it out on a lease that was understood. The revision stays.
TENURE_API void apply(Change&& change, StoredLease& lease);
/// The tokens of a lease that was understood.
[[nodiscard]] TENURE_API StoredTokens tokensOf(const StoredLease& lease);

/// The outcome that needs no write, or the change.
using Decision = std::variant<WriteOutcome, Change>;
using Decide = std::function<Decision(const StoredLease&)>;

[[nodiscard]] TENURE_API Decision decideWrite(const std::string& where, const WriteRequest& request,
                                              const StoredLease& stored);
[[nodiscard]] TENURE_API Decision decideRemoval(const RecordVersion& version, const StoredLease& stored);
[[nodiscard]] TENURE_API Decision decideStepDown(FencingToken token, const StoredLease& stored);
/// `stored`: what an operator sees now; `version`: what the record gets.
[[nodiscard]] TENURE_API Decision decideTokens(const StoreResult<StoredTokens>& stored, const StoredTokens& expected,
                                               FencingToken token, const std::string& version);

}  // namespace tenure::stored
