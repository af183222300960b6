#include "claims.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "attributes_json.hpp"
#include "directory_listing.hpp"
#include "errors.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr std::string_view versionPrefix = "beacon:";

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || rest != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::string textOf(const Claim& claim) {
  return *toJson({{"name", claim.key.name},  // refusalOf() has seen that these are UTF-8
                  {"sort_key", claim.key.sortKey},
                  {"holder", claim.holder},
                  {"token", toString(claim.token)},
                  {"lease_ms", std::to_string(claim.lease.count())}});
}

std::optional<Claim> claimFrom(std::string_view text) {
  const auto fields = attributesFromJson(text);
  if (!fields || fields->size() != 5) return std::nullopt;
  const auto field = [&](const char* name) {
    const auto found = fields->find(name);
    return found == fields->end() ? std::string{} : found->second;
  };
  const auto token = number(field("token"));
  const auto lease = number(field("lease_ms"));
  if (!token || !lease || *lease > std::int64_t{maxRecordLease.count()} || field("holder").empty()) return std::nullopt;
  return Claim{{field("name"), field("sort_key")},
               field("holder"),
               FencingToken{static_cast<std::uint64_t>(*token)},
               std::chrono::milliseconds{*lease}};
}

std::string contentOf(const std::string& path) {
  const UniqueFd file = openBeaconToLook(path);
  std::string out;
  if (!file) return out;
  std::array<char, 4096> buffer;
  for (ssize_t size = 1; (size = read(file.get(), buffer.data(), buffer.size())) > 0;) {
    out.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return out;
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

/// Written under another name first: nobody must read half a claim.
int writeFile(const std::string& path, const std::string& draft, const std::string& text) {
  const UniqueFd file{open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666)};
  if (!file) return errno;
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) return written < 0 ? errno : ENOSPC;
  return std::rename(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::string claimsDirectory(const std::string& sidecar) { return sidecar + "/claims"; }

std::string claimsBucket(const std::string& sidecar, const LeaseKey& key) {
  return claimsDirectory(sidecar) + '/' + fileNameOf(key).substr(0, claimsBucketNameSize);
}

std::optional<FencingToken> claimedTokenIn(const RecordVersion& version) {
  std::string_view text = version.text();
  if (!text.starts_with(versionPrefix)) return std::nullopt;
  text.remove_prefix(versionPrefix.size());
  if (text.size() < 34 || !isBeaconId(text.substr(0, 32)) || text[32] != ':') return std::nullopt;
  const auto token = number(text.substr(33));
  return token ? std::optional{FencingToken{static_cast<std::uint64_t>(*token)}} : std::nullopt;
}

std::optional<StoreError> ClaimBook::stake(const std::string& sidecar, const Claim& claim) {
  const StoreResult<Beacon> beacon = beacon_.get();
  if (beacon.has_error()) return beacon.error();
  if (auto made = makeBucket(sidecar, claim.key); made.has_error()) return made.error();
  const std::string path = claimsBucket(sidecar, claim.key) + '/' + fileNameOf(claim.key) + '-' + beacon->id;
  const std::lock_guard lock{mutex_};  // dropOlder() unlinks the same file
  return write(Own{claim, path});
}

std::optional<StoreError> ClaimBook::lengthen(const std::string& sidecar, const LeaseKey& key,
                                              const std::string& holder, std::chrono::milliseconds lease) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  const bool isHolder = own != own_.end() && own->second.claim.holder == holder;
  if (!isHolder || own->second.claim.lease >= lease) return std::nullopt;
  if (auto made = makeBucket(sidecar, key); made.has_error()) return made.error();
  Own longer = own->second;
  longer.claim.lease = lease;
  return write(std::move(longer));
}

StoreResult<void> ClaimBook::makeBucket(const std::string& sidecar, const LeaseKey& key) const {
  for (const std::string& directory : {sidecar, claimsDirectory(sidecar), claimsBucket(sidecar, key)}) {
    if (auto made = makeDirectory(store_, directory); made.has_error()) return made;
  }
  return {};
}

std::optional<StoreError> ClaimBook::write(Own own) {
  const std::size_t name = own.file.rfind('/') + 1;
  const std::string draft = std::string{own.file}.insert(name, "new-");
  if (const int fault = writeFile(own.file, draft, textOf(own.claim)); fault != 0) {
    return systemError(store_, "writing " + own.file, fault);
  }
  const LeaseKey key = own.claim.key;
  own_.insert_or_assign(key, std::move(own));
  return std::nullopt;
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
  unlink(own->second.file.c_str());
  own_.erase(own);
}

void ClaimBook::dropOlder(const LeaseKey& key, FencingToken inRow) {
  const std::lock_guard lock{mutex_};
  const auto own = own_.find(key);
  if (own == own_.end() || own->second.claim.token >= inRow) return;
  unlink(own->second.file.c_str());
  own_.erase(own);
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
    const auto claim = claimFrom(contentOf(bucket + '/' + name));
    if (!claim || claim->key != key || claim->holder == except) continue;
    if (claim->token <= std::max(above, best ? best->token : above)) continue;
    if (auto beacon = livingBeacon(sidecar, id)) best = recordOf(*claim, std::move(*beacon));
  }
  return best;
}

}  // namespace tenure::sqlite_store
