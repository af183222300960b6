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

std::string claimPath(const std::string& sidecar, const LeaseKey& key, const std::string& beaconId) {
  return claimsBucket(sidecar, key) + '/' + fileNameOf(key) + '-' + beaconId;
}

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
  for (const File& file : files_) unlink(file.path.c_str());
}

std::deque<VoidClaims::File>::iterator VoidClaims::find(const std::string& path) {
  return std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.path == path; });
}

void VoidClaims::put(const std::string& path, FencingToken token) {
  static_cast<void>(take(path));
  if (voidClaim(path) != 0) {
    unlink(path.c_str());
    return;
  }
  files_.push_back({path, token});
  if (files_.size() <= most) return;
  unlink(files_.front().path.c_str());
  files_.pop_front();
}

bool VoidClaims::take(const std::string& path) {
  const auto found = find(path);
  if (found == files_.end()) return false;
  files_.erase(found);
  return true;
}

void VoidClaims::dropOlder(const std::string& path, FencingToken inRow) {
  const auto found = find(path);
  if (found == files_.end() || found->token >= inRow) return;
  unlink(found->path.c_str());
  files_.erase(found);
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
  const std::lock_guard lock{mutex_};  // dropOlder() writes the same file
  return write(sidecar, Own{claim, claimPath(sidecar, claim.key, beacon->id)});
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
  int fault = ENOENT;
  if (own_.contains(own.claim.key)) {
    fault = replaceClaim(own.file, own.claim);
  } else if (void_.take(own.file)) {
    fault = reviveClaim(own.file, own.claim);
  }
  if (fault != 0) {
    if (auto made = makeBucket(sidecar, own.claim.key); made.has_error()) return made.error();
    fault = putNew(own);
  }
  if (fault != 0) return systemError(store_, "writing " + own.file, fault);
  const LeaseKey key = own.claim.key;
  own_.insert_or_assign(key, std::move(own));
  return std::nullopt;
}

int ClaimBook::putNew(const Own& own) {
  const int fault = makeClaim(own.file, own.claim);
  return fault == EEXIST ? replaceClaim(own.file, own.claim) : fault;
}

void ClaimBook::end(std::map<LeaseKey, Own>::iterator own) {
  void_.put(own->second.file, own->second.claim.token);
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

void ClaimBook::dropOlder(const std::string& sidecar, const LeaseKey& key, FencingToken inRow) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  if (own != own_.end() && own->second.claim.token < inRow) end(own);
  if (!void_.empty()) void_.dropOlder(claimPath(sidecar, key, beacon_.id()), inRow);
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
