// SQL that makes tables of your own refuse unfenced and stale writes, whoever sends them.
#pragma once

#include <string>

namespace tenure {

struct FencedTable {
  std::string table;  ///< in the main database; exists
  std::string lease;  ///< as in TermStamp
  /// An integer column for the fencing token of whoever wrote a row last. Empty: the table has none, and only
  /// SqliteFence::write can change it.
  std::string tokenColumn{};
};

/// A script of triggers for a migration or `sqlite3_exec`; run it in a transaction. It may be run again, also after
/// the table has changed. SQLite itself then enforces the fence (RAISE(ABORT), SQLITE_CONSTRAINT_TRIGGER) on every
/// writer: old code, the sqlite3 shell, programs in other languages that know nothing of this library.
///
/// - Inside SqliteFence::write for that lease everything is allowed: the fence has checked the term.
/// - With a `tokenColumn` plain SQL may INSERT and UPDATE too, if each row carries the writer's token: lower than the
///   highest seen is refused, higher is remembered. An UPDATE must *name* the column, so that a forgotten token is
///   found out at once and not at the next change of leaders. (Only the token is compared, not the holder.)
/// - DELETE carries no token and is refused.
///
/// What a trigger cannot see is not fenced: dropping the table or the triggers, the deletions of REPLACE and of
/// foreign keys (`ON DELETE CASCADE`) into other tables. Undo with `DROP TRIGGER`, names start with `tenure_fence_`.
///
/// Throws std::invalid_argument if the table or the lease is empty, or a text is not UTF-8 or holds a NUL.
[[nodiscard]] std::string sqliteFenceSql(const FencedTable& fenced);

}  // namespace tenure
