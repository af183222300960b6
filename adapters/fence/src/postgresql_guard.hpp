// The table tenure_fence_guard in PostgreSQL: what makes it, and what says whether one that is there is ours.
#pragma once

#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Sets what the SQL of this file depends on, for the transaction that it is in: which names mean what, and how the
/// server writes its catalogues' expressions.
inline constexpr const char* postgresqlGuardSettings =
    "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL quote_all_identifiers = off; "
    "SET LOCAL client_min_messages = warning;";

/// The two parts of the SQL that makes the table, or brings it up to date. Functions of a fence that are made between
/// the parts get the table's owner too. In a transaction, under the settings above.
[[nodiscard]] std::string postgresqlGuardBegin(std::string_view schema);
[[nodiscard]] std::string postgresqlGuardEnd(std::string_view schema);

/// A query for what keeps the present role from using the table as a fence's: other columns than ours, what runs code
/// of other roles with the writer's rights, what hides rows. It gives one row of one text, empty if there is nothing,
/// and no row if there is no such table. In a transaction, under the settings above.
[[nodiscard]] TENURE_API std::string postgresqlGuardFault(std::string_view schema);

/// The same for a store's table of leases, of which rows are only read and locked.
[[nodiscard]] TENURE_API std::string postgresqlLeaseTableFault(std::string_view schema, std::string_view table);

}  // namespace tenure
