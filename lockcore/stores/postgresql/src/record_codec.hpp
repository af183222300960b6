// Rows of the table as values, and values as parameters. Strict: what this library cannot have written is `corrupt`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "database.hpp"
#include "token_rule.hpp"

namespace tenure::postgresql_store {

/// What column layout says in rows that this version writes.
inline constexpr std::int64_t presentLayout = 1;

/// Where a row was read, for messages.
struct Place {
  std::string store;  ///< LeaseStore::describe(), the start of every message
  std::string table;  ///< `"public"."tenure_lease"`
};

/// What a row of LeaseColumn says. Nothing of it is stored where there is no row.
struct StoredLease {
  bool exists{false};
  LeaseKey key{};
  /// Empty: there is no record.
  std::optional<StoreResult<LeaseRecord>> record{};
  /// The fencing counter; an error if it is not understood.
  StoreResult<FencingToken> counter{FencingToken{}};
  /// The lease of a term that may still run although there is no record; 0: there is none.
  std::chrono::milliseconds openLease{0};
  bool inherited{false};                        ///< what is stored belongs to an earlier history
  KnownTokens tokens{};                         ///< as they are stored, even if malformed
  std::optional<std::string> presentHistory{};  ///< of the server; empty: it does not tell

  /// What a read answers.
  [[nodiscard]] ReadOutcome told() const;
};

/// The row may come from any server; a row of another shape is a `misconfigured` error.
[[nodiscard]] StoreResult<StoredLease> leaseFrom(const Place& place, const Row& row);

/// The same row for an operator, with the texts as they are.
[[nodiscard]] StoredTokens tokensFrom(const Row& row);

/// What updateLease says about the tokens before it; empty: there was no row, and insertLease has made it.
[[nodiscard]] std::optional<KnownTokens> tokensBefore(const Row& row);

/// A number in decimal; empty if it is none.
[[nodiscard]] std::optional<std::int64_t> integerFrom(const Value& value) noexcept;
/// Empty if a token is none that may be.
[[nodiscard]] std::optional<FencingToken> tokenFrom(const Value& value) noexcept;

[[nodiscard]] std::string hexOf(std::string_view bytes);
/// A value of type bytea, in the form that means the same with every setting.
[[nodiscard]] std::string byteaOf(std::string_view bytes);
[[nodiscard]] Value textOf(const std::optional<LivenessFile>& livenessFile);

}  // namespace tenure::postgresql_store
