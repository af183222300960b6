// The fence's own table.
#pragma once

#include <string>

namespace tenure::postgresql_fence {

/// Makes the table, and a trigger by which its tokens only rise, in this schema (quoted) where they are missing.
[[nodiscard]] std::string guardTableSql(const std::string& schema);

}  // namespace tenure::postgresql_fence
