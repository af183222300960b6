// Whose tables a role may write to without giving its rights away, for the store and the fences that use PostgreSQL. In
// a header, so that neither links the other's library.
#pragma once

#include <string>
#include <string_view>

namespace tenure::postgresql {

/// An SQL condition about the role whose oid is %1. `n` is the row of pg_namespace of the schema that the table is in,
/// `d` that of pg_database of this database.
///
/// The owner of a table may put a trigger or a rule on it at any time, and these run with the rights of whoever writes.
/// So the owner must be one that has those rights already (the role itself, its members, superusers), or one that could
/// put another table in its place: the schema's owner. The schema `public` belongs to pg_database_owner, hence the
/// database's owner.
inline constexpr const char* trustedRole =
    "(pg_catalog.pg_has_role(%1, CURRENT_USER, 'MEMBER') OR %1 IN (n.nspowner, d.datdba))";

/// The condition about another expression than %1, and about whom another role than the present one trusts.
[[nodiscard]] inline std::string trusts(std::string_view role, std::string_view by = "CURRENT_USER") {
  constexpr std::string_view present = "CURRENT_USER";
  std::string condition{trustedRole};
  condition.replace(condition.find(present), present.size(), by);
  for (std::size_t at = 0; (at = condition.find("%1", at)) != std::string::npos; at += role.size()) {
    condition.replace(at, 2, role);
  }
  return condition;
}

}  // namespace tenure::postgresql
