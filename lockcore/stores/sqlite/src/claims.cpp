#include "claims.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "directory_listing.hpp"
#include "errors.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr std::string_view versionPrefix = "beacon:";

LeaseRecord recordOf(const Claim& claim, Beacon beacon) {
  LeaseRecord record;
  record.holder = claim.holder;
  record.version = RecordVersion{std::string{versionPrefix} + beacon.id + ':' + toString(claim.token)};
  record.leaseDuration = claim.lease;
  record.token = claim.token;
  record.beacon = std::move(beacon);
  return record;
}

/// The beacon, if its process lives.
std::optional<Beacon> livingBeacon(const std::string& sidecar, const std::string& id) {
  const UniqueFd file = openBeaconToLook(beaconPath(sidecar, id));
  struct stat found {};
  if (!file || fstat(file.get(), &found) != 0 || probeBeacon(file) == LockState::free) return std::nullopt;
  return Beacon{id, bootId(), found.st_dev, found.st_ino};
}

}  // namespace

VoidClaims::~VoidClaims() {
  for (const auto& [key, path] : files_) unlink(path.c_str());
}

void VoidClaims::put(const LeaseKey& key, const std::string& path) {
  if (voidClaim(path) != 0) {
    unlink(path.c_str());
    return;
  }
  files_.emplace_back(key, path);
  if (files_.size() <= most) return;
  unlink(files_.front().second.c_str());
  files_.pop_front();
}

bool VoidClaims::take(const LeaseKey& key, const std::string& path) {
  const auto found = std::find(files_.begin(), files_.end(), std::pair{key, path});
  if (found == files_.end()) return false;
  files_.erase(found);
  return true;
}

std::string claimsDirectory(const std::string& sidecar) { return sidecar + "/claims"; }

std::string claimsBucket(const std::string& sidecar, const LeaseKey& key) {
  return claimsDirectory(sidecar) + '/' + fileNameOf(key).substr(0, claimsBucketNameSize);
}

std::optional<FencingToken> claimedTokenIn(const RecordVersion& version) {
  std::string_view text = version.text();
  if (!text.starts_with(versionPrefix)) return std::nullopt;
  text.remove_prefix(versionPrefix.size());
  if (text.size() < 34 || !isBeaconId(text.substr(0, 32)) || text[32] != ':') return std::nullopt;
  const auto token = positiveNumber(text.substr(33));
  return token ? std::optional{FencingToken{static_cast<std::uint64_t>(*token)}} : std::nullopt;
}

std::optional<StoreError> ClaimBook::stake(const std::string& sidecar, const Claim& claim) {
  const StoreResult<Beacon> beacon = beacon_.get();
  if (beacon.has_error()) return beacon.error();
  const std::string path = claimsBucket(sidecar, claim.key) + '/' + fileNameOf(claim.key) + '-' + beacon->id;
  const std::lock_guard lock{mutex_};  // dropOlder() writes the same file
  return write(sidecar, Own{claim, path});
}

std::optional<StoreError> ClaimBook::lengthen(const std::string& sidecar, const LeaseKey& key,
                                              const std::string& holder, std::chrono::milliseconds lease) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  const bool isHolder = own != own_.end() && own->second.claim.holder == holder;
  if (!isHolder || own->second.claim.lease >= lease) return std::nullopt;
  Own longer = own->second;
  longer.claim.lease = lease;
  return write(sidecar, std::move(longer));
}

StoreResult<void> ClaimBook::makeBucket(const std::string& sidecar, const LeaseKey& key) const {
  for (const std::string& directory : {sidecar, claimsDirectory(sidecar), claimsBucket(sidecar, key)}) {
    if (auto made = makeDirectory(store_, directory); made.has_error()) return made;
  }
  return {};
}

std::optional<StoreError> ClaimBook::write(const std::string& sidecar, Own own) {
  int fault = put(own);
  if (fault == ENOENT) {
    if (auto made = makeBucket(sidecar, own.claim.key); made.has_error()) return made.error();
    fault = put(own);
  }
  if (fault != 0) return systemError(store_, "writing " + own.file, fault);
  const LeaseKey key = own.claim.key;
  own_.insert_or_assign(key, std::move(own));
  return std::nullopt;
}

int ClaimBook::put(const Own& own) {
  if (own_.contains(own.claim.key)) return replaceClaim(own.file, own.claim);
  const bool isVoid = void_.take(own.claim.key, own.file);
  int fault = isVoid ? reviveClaim(own.file, own.claim) : makeClaim(own.file, own.claim);
  if (isVoid && fault == ENOENT) fault = makeClaim(own.file, own.claim);
  return fault == EEXIST ? replaceClaim(own.file, own.claim) : fault;
}

void ClaimBook::end(std::map<LeaseKey, Own>::iterator own) {
  void_.put(own->first, own->second.file);
  own_.erase(own);
}

void ClaimBook::settle(const LeaseKey& key, const std::string& holder) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  if (own != own_.end() && own->second.claim.holder == holder) own->second.settled = true;
}

void ClaimBook::drop(const LeaseKey& key, const std::string& holder) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  if (own == own_.end() || own->second.claim.holder != holder) return;
  end(own);
}

void ClaimBook::dropOlder(const LeaseKey& key, FencingToken inRow) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  if (own == own_.end() || own->second.claim.token >= inRow) return;
  end(own);
}

bool ClaimBook::any() const {
  const std::lock_guard lock{mutex_};
  return !own_.empty();
}

std::optional<LeaseRecord> ClaimBook::ownClaim(const LeaseKey& key, const std::string& except) const {
  const StoreResult<Beacon> beacon = beacon_.get();
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  if (own == own_.end() || !own->second.settled || own->second.claim.holder == except || beacon.has_error()) {
    return std::nullopt;
  }
  return recordOf(own->second.claim, *beacon);
}

std::optional<LeaseRecord> ClaimBook::strongest(const std::string& sidecar, const LeaseKey& key, FencingToken above,
                                                const std::string& except) const {
  const std::string ownId = beacon_.id();
  std::optional<LeaseRecord> best = ownId.empty() ? std::nullopt : ownClaim(key, except);
  if (best && best->token <= above) best.reset();
  const std::string bucket = claimsBucket(sidecar, key);
  const std::string prefix = fileNameOf(key) + '-';
  for (const std::string& name : namesIn(bucket, prefix)) {
    const std::string id = name.substr(prefix.size());
    if (!isBeaconId(id) || id == ownId) continue;
    const auto claim = readClaim(bucket + '/' + name);
    if (!claim || claim->key != key || claim->holder == except) continue;
    if (claim->token <= std::max(above, best ? best->token : above)) continue;
    if (auto beacon = livingBeacon(sidecar, id)) best = recordOf(*claim, std::move(*beacon));
  }
  return best;
}

}  // namespace tenure::sqlite_store
