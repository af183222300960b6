// The fence's own table.
#pragma once

namespace tenure::sqlite_fence {

/// Values of the column `ticket`. Only zero is ever committed: a connection that sets another value holds the write
/// lock and sets it back in the same transaction, so no other connection ever sees another value.
inline constexpr int noTicket = 0;
inline constexpr int fencedWrite = 1;  ///< inside SqliteFence::write
inline constexpr int namedToken = 2;   ///< between the two triggers that follow a row of an UPDATE with a token

/// Creates the table where it is missing.
extern const char* const guardTableSql;

}  // namespace tenure::sqlite_fence
