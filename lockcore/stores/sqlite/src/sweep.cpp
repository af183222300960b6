#include "sweep.hpp"

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <sqlite3.h>

#include "beacon_file.hpp"
#include "lockcore/runtime/directory.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr std::string_view draftPrefix = "new-";

bool isDead(const std::string& sidecar, const std::string& id) {
  const UniqueFd beacon = openBeaconToLook(beaconPath(sidecar, id));
  if (beacon) return probeBeacon(beacon) == LockState::free;
  return access(beaconPath(sidecar, id).c_str(), F_OK) != 0;
}

/// True also if it cannot be determined.
bool isReferredTo(Session& session, const std::string& id) {
  Statement& count = session.statements().countBeaconUses;
  const StatementUse use{count};
  count.bind(1, id);
  return count.step() != SQLITE_ROW || count.integer(0) != 0;
}

/// A locked draft belongs to a process that is about to name it. An empty draft may not be locked yet.
bool isAbandonedDraft(const std::string& path) {
  const UniqueFd draft = openBeaconToLook(path);
  struct stat found {};
  return draft && fstat(draft.get(), &found) == 0 && found.st_size > 0 && probeBeacon(draft) == LockState::free;
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
  for (const std::string& name : namesIn(sidecar, beaconPrefix)) {
    const std::string id = name.substr(beaconPrefix.size());
    if (isBeaconId(id) && isDead(sidecar, id) && !isReferredTo(session, id)) unlink((sidecar + '/' + name).c_str());
  }
  for (const std::string& name : namesIn(sidecar, draftPrefix)) {
    if (isAbandonedDraft(sidecar + '/' + name)) unlink((sidecar + '/' + name).c_str());
  }
}

}  // namespace tenure::sqlite_store
