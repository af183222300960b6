// SQL that makes your own tables in PostgreSQL refuse unfenced and stale writes, whoever sends them.
#pragma once

#include <string>
#include <string_view>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

/// Codes of the errors that the script's trigger raises, in addition to those of PostgreSQL.
inline constexpr std::string_view postgresqlUnfencedState = "TF001";  ///< no token, a bad one, or another lease's
inline constexpr std::string_view postgresqlStaleState = "TF002";     ///< a lower token than the highest seen
inline constexpr std::string_view postgresqlForeignState = "TF003";   ///< an equal token of another holder
inline constexpr std::string_view postgresqlDamagedState = "TF004";   ///< the remembered token is above every valid one

/// A script for psql or a migration, for PostgreSQL 14 and later. The owner of the table and of its schema runs it, or
/// a superuser. It contains its own transaction and may be run again. It stops where the fence's objects belong to
/// a role that could use others' rights by them, and where they are not as it makes them (docs/fencing/postgresql.md).
/// `schema` is the table's; the fence's own table and function are put there too. PostgreSQL itself then enforces the
/// fence on every statement that inserts into, updates, deletes from or truncates the table, whoever sends it: old
/// code, psql, other languages.
///
/// A writer states its term in the transaction that writes, before the first statement on the table:
///
///     BEGIN;
///     SET LOCAL tenure.token = '5';         -- $TENURE_FENCING_TOKEN under `tenure run`
///     SET LOCAL tenure.holder = 'host-7';   -- optional: then an equal token of another holder is refused too
///     SET LOCAL tenure.lease = 'billing';   -- optional: then a table of another lease refuses
///     UPDATE ...
///     COMMIT;
///
/// A lower token than the highest seen is refused, a higher one is remembered. The row of the fence stays locked until
/// the transaction ends: statements of one term share this lock, a later term waits. PostgresqlFence::write on the same
/// schema sets all three and uses the same memory, so both kinds of writers fence each other.
///
/// Partitions and children of the table are guarded too, so that no name leads past the fence; a partition or child
/// alone is refused. Run it again after you have added one.
///
/// The trigger does not see and does not fence ALTER TABLE and DROP by the owner, and `session_replication_role =
/// replica`. A token is not authentication: any role that may write the table may
/// claim any token from 1 to maxFencingToken, and so lock out all other writers until an operator corrects what the
/// fence remembers (`tenure fence recover`). Undo with `DROP TRIGGER tenure_fence ON <table>`.
///
/// Throws std::invalid_argument if a name is empty, is not UTF-8 or holds a NUL, if the table or schema is longer than
/// the 63 bytes that PostgreSQL keeps of a name, or if the lease is one that faultsOf(const LeaseKey&) refuses.
[[nodiscard]] TENURE_API std::string postgresqlFenceSql(const FencedTable& fenced, std::string_view schema = "public");

/// Only the fence's table, with the rule that its tokens only rise, in this schema (not quoted yet). It is a part of
/// the script above, for a transaction. PostgresqlFence::open runs it where the table is missing.
[[nodiscard]] TENURE_API std::string postgresqlGuardTableSql(std::string_view schema);

/// SQL that makes the fence in this schema remember `memory`, however high the token is that it remembers now, in one
/// transaction. For an operator, as FenceMemory says; run it as the fence's owner. It stops where PostgresqlFence::open
/// would refuse the table. Throws std::invalid_argument as
/// above.
[[nodiscard]] TENURE_API std::string postgresqlSetFenceSql(std::string_view schema, const TermStamp& memory);

}  // namespace tenure
