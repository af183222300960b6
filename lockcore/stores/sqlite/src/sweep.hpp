// Takes away what dead processes left beside the database.
#pragma once

#include <string>

#include "session.hpp"

namespace tenure::sqlite_store {

/// Removes unlocked beacons that no held row refers to: a candidate for another lease of the same dead process still
/// needs its beacon as proof. Never touches what a living process locks. Whatever cannot be looked at is left for the
/// next time.
void sweepSidecar(Session& session);

}  // namespace tenure::sqlite_store
