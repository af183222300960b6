#include "beacon_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/random_source.hpp>

#include "errors.hpp"
#include "filesystem_checks.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {

const std::string& bootId() {
  // Never destroyed: threads of the library may ask for it while the process exits.
  static const auto* const id = [] {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string line;
    std::getline(file, line);
    return new std::string{line};  // lint-allow(raw-new): see above
  }();
  return *id;
}

std::string beaconPath(const std::string& sidecar, std::string_view id) {
  return sidecar + "/beacon-" + std::string{id};
}

UniqueFd openBeaconToLook(const std::string& path) noexcept {
  UniqueFd file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat found {};
  if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  return file;
}

LockState probeBeacon(const UniqueFd& beacon) noexcept {
  // Any failure counts as held: only the lock itself is proof.
  if (flock(beacon.get(), LOCK_SH | LOCK_NB) != 0) return LockState::held;
  flock(beacon.get(), LOCK_UN);
  return LockState::free;
}

OwnBeacon::OwnBeacon(std::string store, std::string path) : store_{std::move(store)}, path_{std::move(path)} {}

OwnBeacon::~OwnBeacon() {
  if (!fd_ || !mark_.isHere()) {
    static_cast<void>(fd_.release());
    return;
  }
  if (kept_) {
    static_cast<void>(fd_.release());
    return;
  }
  // The name goes before the lock: whoever gets the lock afterwards finds no file of that name and has no proof. The
  // end of a store is not the end of its process.
  unlink(file_.c_str());
}

StoreResult<Beacon> OwnBeacon::get() {
  const std::lock_guard lock{mutex_};
  if (beacon_) return *beacon_;
  return make();
}

std::string OwnBeacon::id() const {
  const std::lock_guard lock{mutex_};
  return beacon_ ? beacon_->id : std::string{};
}

void OwnBeacon::keepUntilProcessEnds() noexcept {
  const std::lock_guard lock{mutex_};
  kept_ = true;
}

StoreResult<Beacon> OwnBeacon::make() {
  const StoreResult<CheckedFiles> checked = checkFiles(store_, path_);
  if (checked.has_error()) return checked.error();
  const std::string& sidecar = checked->files.sidecar;
  if (const auto made = makeDirectory(store_, sidecar); made.has_error()) return made.error();

  SystemRandom random;
  Beacon beacon{.id = hex128(random), .bootId = bootId()};
  // It gets its name only when it is locked and filled: a beacon that can be found and is not locked is a dead one.
  const std::string draft = sidecar + "/new-" + beacon.id;
  UniqueFd fd{open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)};
  if (!fd) return systemError(store_, "making " + draft, errno);
  const std::string line = beacon.id + '\n';
  struct stat found {};
  file_ = beaconPath(sidecar, beacon.id);
  const bool done = flock(fd.get(), LOCK_EX | LOCK_NB) == 0 &&
                    write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                    fstat(fd.get(), &found) == 0 && std::rename(draft.c_str(), file_.c_str()) == 0;
  if (!done) {
    StoreError error = systemError(store_, "making " + file_, errno);
    unlink(draft.c_str());
    return error;
  }
  beacon.device = found.st_dev;
  beacon.inode = found.st_ino;
  fd_ = std::move(fd);
  descriptor_.store(fd_.get());
  beacon_ = beacon;
  return beacon;
}

}  // namespace tenure::sqlite_store
