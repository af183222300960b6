// A layer below SQLite's own memory that makes the n-th allocation fail (fault_plan.hpp): "allocation".
#pragma once

namespace tenure::sqlite_test {

/// For the rest of the program. To be called before the first use of SQLite.
void countAllocations();

}  // namespace tenure::sqlite_test
