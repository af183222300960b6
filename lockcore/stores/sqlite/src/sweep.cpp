#include "sweep.hpp"

#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <sqlite3.h>

#include "beacon_file.hpp"
#include "claims.hpp"
#include "directory_listing.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr std::string_view beaconPrefix = "beacon-";
constexpr std::string_view draftPrefix = "new-";

bool isDead(const std::string& sidecar, const std::string& id) {
  const UniqueFd beacon = openBeaconToLook(beaconPath(sidecar, id));
  if (beacon) return probeBeacon(beacon) == LockState::free;
  return access(beaconPath(sidecar, id).c_str(), F_OK) != 0;
}

/// True also if it cannot be told.
bool isReferredTo(Session& session, const std::string& id) {
  Statement& count = session.statements().countBeaconUses;
  const StatementUse use{count};
  count.bind(1, id);
  return count.step() != SQLITE_ROW || count.integer(0) != 0;
}

/// A draft that is locked belongs to a process that is about to name it; an empty one may not be locked yet.
bool isAbandonedDraft(const std::string& path) {
  const UniqueFd draft = openBeaconToLook(path);
  struct stat found {};
  return draft && fstat(draft.get(), &found) == 0 && found.st_size > 0 && probeBeacon(draft) == LockState::free;
}

/// What a process may have left by the thousand is judged by one look at its beacon: the dead do not come back, and who
/// dies meanwhile is for the next sweep.
class Obituaries {
 public:
  explicit Obituaries(std::string sidecar) : sidecar_{std::move(sidecar)} {}
  [[nodiscard]] bool has(const std::string& id) {
    const auto [known, isNew] = dead_.try_emplace(id);
    if (isNew) known->second = isDead(sidecar_, id);
    return known->second;
  }

 private:
  const std::string sidecar_;
  std::map<std::string, bool> dead_;
};

void sweepClaims(const std::string& sidecar) {
  constexpr std::size_t idSize = 32;
  Obituaries obituaries{sidecar};
  for (const std::string& bucket : namesIn(claimsDirectory(sidecar))) {
    if (bucket.size() != claimsBucketNameSize) continue;
    const std::string directory = claimsDirectory(sidecar) + '/' + bucket;
    for (const std::string& name : namesIn(directory)) {
      if (name.size() <= idSize) continue;
      const std::string id = name.substr(name.size() - idSize);  // drafts of claims end in it, too
      if (isBeaconId(id) && obituaries.has(id)) unlink((directory + '/' + name).c_str());
    }
  }
}

}  // namespace

void sweepSidecar(Session& session) {
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error() || !*ready) return;
  const std::string sidecar = session.files().sidecar;
  sweepClaims(sidecar);
  for (const std::string& name : namesIn(sidecar, beaconPrefix)) {
    const std::string id = name.substr(beaconPrefix.size());
    if (isBeaconId(id) && isDead(sidecar, id) && !isReferredTo(session, id)) unlink((sidecar + '/' + name).c_str());
  }
  for (const std::string& name : namesIn(sidecar, draftPrefix)) {
    if (isAbandonedDraft(sidecar + '/' + name)) unlink((sidecar + '/' + name).c_str());
  }
}

}  // namespace tenure::sqlite_store
