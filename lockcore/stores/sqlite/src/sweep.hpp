// Removes what dead processes left beside the database.
#pragma once

#include <string>

#include "session.hpp"

namespace tenure::sqlite_store {

/// Removes unlocked liveness files that no held row refers to. (If a row of another lease refers to the same dead
/// process, its candidates still need the file as proof.) Never touches what a living process locks. A file that cannot
/// be checked is left for the next time.
void sweepSidecar(Session& session);

}  // namespace tenure::sqlite_store
