// Rows of the table as values, and values as parameters. Strict: what this library cannot have written is `corrupt`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/register.hpp>

#include "database.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/stored/decisions.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {

/// What column layout says in rows that this version writes.
inline constexpr std::int64_t presentLayout = 1;

/// Where a row was read, for messages.
struct Place {
  std::string store;  ///< LeaseStore::describe(), the start of every message
  std::string table;  ///< `"public"."tenure_lease"`
};

/// What a row of LeaseColumn says, as it was read at one moment or written by this process.
struct RowState : stored::StoredLease {
  LeaseKey key{};
  Row row{};  ///< the texts, without the data

  [[nodiscard]] bool exists() const { return row[nameColumn].has_value(); }
};

/// The row may come from any server; a row of another shape is a `misconfigured` error.
[[nodiscard]] StoreResult<RowState> leaseFrom(const Place& place, Row row);

/// What `change` makes of what was seen; of an operator's correction the texts alone.
[[nodiscard]] RowState stateAfter(const Place& place, const RowState& seen, const LeaseKey& key,
                                  const stored::Change& change);
/// Whether the change gives the lease another token, in the server's present history.
[[nodiscard]] bool beginsTerm(const RowState& seen, const stored::Change& change);

/// The same row for an operator, with the texts as they are.
[[nodiscard]] StoredTokens tokensFrom(const Row& row);

/// A number in decimal; empty if it is none.
[[nodiscard]] std::optional<std::int64_t> integerFrom(const Value& value) noexcept;
/// Empty if a token is none that may be.
[[nodiscard]] std::optional<FencingToken> tokenFrom(const Value& value) noexcept;

/// A value of type bytea, in the form that means the same with every setting.
[[nodiscard]] std::string byteaOf(std::string_view bytes);
[[nodiscard]] Value textOf(const std::optional<LivenessFile>& livenessFile);

}  // namespace tenure::postgresql_store
