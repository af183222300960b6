#include "sweep.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

#include <sqlite3.h>

#include "lockcore/liveness/beacon_file.hpp"
#include "lockcore/runtime/directory.hpp"

namespace tenure::sqlite_store {
namespace {

using namespace liveness;

/// True also if it cannot be determined.
bool isReferredTo(Session& session, const std::string& id) {
  Statement& count = session.statements().countBeaconUses;
  const StatementUse use{count};
  count.bind(1, id);
  return count.step() != SQLITE_ROW || count.integer(0) != 0;
}

/// Older releases wrote each term into a file below this directory, and read these files as long as they run.
void removeClaimsOfOlderReleases(const std::string& sidecar) {
  const std::string claims = sidecar + "/claims";
  if (access(claims.c_str(), F_OK) != 0) return;
  for (const std::string& name : namesIn(sidecar, beaconPrefix)) {
    const UniqueFd beacon = openBeaconToLook(sidecar + '/' + name);
    int fault = 0;
    if (beacon && probeBeacon(beacon) == LockState::held && !statedLease(beacon, fault)) return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(claims, ignored);
}

}  // namespace

void sweepSidecar(Session& session) {
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error() || !*ready) return;
  const std::string sidecar = session.files().sidecar;
  removeClaimsOfOlderReleases(sidecar);
  removeDeadBeacons(sidecar, [&](const std::string& id) { return isReferredTo(session, id); });
}

}  // namespace tenure::sqlite_store
