#include "liveness_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::liveness {

namespace {

using std::chrono::milliseconds;

/// The id and its line break: older releases wrote and read only this.
constexpr std::size_t idLineSize = 33;
constexpr std::size_t digits = 12;
constexpr std::string_view label = "longest_lease_ms ";

/// Of a liveness file that has no name yet.
constexpr std::string_view draftPrefix = "new-";

/// The line states the number twice, at fixed places: a process that reads while another writes sees two different
/// numbers.
std::string statement(milliseconds lease) {
  std::string number = std::to_string(lease.count());
  number.insert(0, digits - std::min(digits, number.size()), '0');
  return std::string{label} + number + ' ' + number + '\n';
}

/// False: errno says why. A partial write counts as a full disk, because the kernel sets no errno for it.
bool putWhole(const UniqueFd& file, const std::string& text, std::size_t at) noexcept {
  const ssize_t written = pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(at));
  if (written == static_cast<ssize_t>(text.size())) return true;
  if (written >= 0) errno = ENOSPC;
  return false;
}

/// The kernel lets go of the open files of a dead process from the highest descriptor down, and an inotify instance
/// keeps it for 5 to 50 ms (until all readers of its watches are through). With a high descriptor the lock is dropped
/// before those of this process and its host. At a low limit, or beyond this number, a proof comes later.
UniqueFd asFirstToGo(UniqueFd fd) noexcept {
  for (const int lowest : {1000, 200}) {
    const int high = fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest);
    if (high >= 0) return UniqueFd{high};
  }
  return fd;
}

bool isDead(const std::string& directory, const std::string& id) {
  const UniqueFd livenessFile = openLivenessFileToLook(livenessFilePath(directory, id));
  if (livenessFile) return probeLivenessFile(livenessFile) == LockState::free;
  return access(livenessFilePath(directory, id).c_str(), F_OK) != 0;
}

/// A locked draft belongs to a process that is about to name it. An empty draft may not be locked yet.
bool isAbandonedDraft(const std::string& path) {
  const UniqueFd draft = openLivenessFileToLook(path);
  struct stat found {};
  return draft && fstat(draft.get(), &found) == 0 && found.st_size > 0 && probeLivenessFile(draft) == LockState::free;
}

}  // namespace

std::optional<milliseconds> statedLease(const UniqueFd& livenessFile, int& systemErrno) noexcept {
  constexpr int maxReads = 3;  // writes are so rare that two reads in a row do not meet one
  systemErrno = 0;
  std::array<char, label.size() + 2 * (digits + 1)> line{};
  for (int read = 0; read < maxReads; ++read) {
    const ssize_t size = pread(livenessFile.get(), line.data(), line.size(), static_cast<off_t>(idLineSize));
    if (size < 0) {
      systemErrno = errno;
      return std::nullopt;
    }
    const std::string_view text{line.data(), static_cast<std::size_t>(size)};
    if (text.size() != line.size() || !text.starts_with(label) || text.back() != '\n') return std::nullopt;
    const std::string_view first = text.substr(label.size(), digits);
    const std::string_view second = text.substr(label.size() + digits + 1, digits);
    const auto value = numberFrom<std::int64_t>(first);
    if (first == second && value && *value >= 0) return milliseconds{*value};
  }
  return std::nullopt;
}

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

bool isLivenessFileId(std::string_view text) noexcept {
  return text.size() == 32 && text.find_first_not_of(hexDigits) == std::string_view::npos;
}

std::string livenessFilePath(const std::string& directory, std::string_view id) {
  return directory + '/' + std::string{livenessFilePrefix} + std::string{id};
}

UniqueFd openLivenessFileToLook(const std::string& path) noexcept {
  UniqueFd file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat found {};
  if (!file || fstat(file.get(), &found) != 0) return {};
  if (S_ISREG(found.st_mode)) return file;
  file = {};
  errno = EINVAL;
  return {};
}

LockState probeLivenessFile(const UniqueFd& livenessFile) noexcept {
  // Any failure counts as held: only getting the lock itself is proof.
  if (flock(livenessFile.get(), LOCK_SH | LOCK_NB) != 0) return LockState::held;
  flock(livenessFile.get(), LOCK_UN);
  return LockState::free;
}

void removeDeadLivenessFiles(const std::string& directory,
                             const std::function<bool(const std::string& id)>& isReferredTo) {
  for (const std::string& name : namesIn(directory, livenessFilePrefix)) {
    const std::string id = name.substr(livenessFilePrefix.size());
    if (isLivenessFileId(id) && isDead(directory, id) && !isReferredTo(id)) unlink((directory + '/' + name).c_str());
  }
  for (const std::string& name : namesIn(directory, draftPrefix)) {
    if (isAbandonedDraft(directory + '/' + name)) unlink((directory + '/' + name).c_str());
  }
}

OwnLivenessFile::OwnLivenessFile(LivenessFilePlace place) : place_{std::move(place)} {}

OwnLivenessFile::~OwnLivenessFile() {
  if (!fd_ || !mark_.isHere()) {
    static_cast<void>(fd_.release());
    return;
  }
  if (longestOpen(nullptr).count() > 0) {
    static_cast<void>(fd_.release());
    return;
  }
  // The name is removed before the lock: a process that gets the lock afterwards finds no file of that name and has no
  // proof. The end of a store is not the end of its process.
  unlink(file_.c_str());
}

StoreResult<LivenessFile> OwnLivenessFile::get() {
  const std::lock_guard lock{mutex_};
  if (livenessFile_) return *livenessFile_;
  return make();
}

std::string OwnLivenessFile::id() const {
  const std::lock_guard lock{mutex_};
  return livenessFile_ ? livenessFile_->id : std::string{};
}

StoreResult<bool> OwnLivenessFile::openTerm(const TermName& term, milliseconds lease) {
  const std::lock_guard lock{mutex_};
  if (!livenessFile_) {
    if (auto made = make(); made.has_error()) return made.error();
  }
  if (lease > stated_) {
    if (auto fault = state(lease)) return std::move(*fault);
  }
  const Instant now = readClock();
  if (openTerms_.size() >= mostOpen_) {
    std::erase_if(openTerms_, [&](const auto& one) { return isOver(one.second, now); });
    mostOpen_ = std::max(mostOpen_, 2 * openTerms_.size());
  }
  const auto [open, isNew] = openTerms_.try_emplace(term);
  open->second = {std::max(open->second.lease, lease), now};
  return isNew;
}

/// The commit comes after the write began, but not by a whole lease.
bool OwnLivenessFile::isOver(const OpenTerm& term, const Instant& now) noexcept {
  return elapsedForChallenger(term.writtenAt, now) >= 2 * term.lease;
}

void OwnLivenessFile::endTerm(const TermName& term) noexcept {
  const std::lock_guard lock{mutex_};
  openTerms_.erase(term);
}

milliseconds OwnLivenessFile::longestOpen(const TermName* except) const {
  const std::lock_guard lock{mutex_};
  milliseconds longest{0};
  const Instant now = readClock();
  for (const auto& [term, open] : openTerms_) {
    if ((except == nullptr || term != *except) && !isOver(open, now)) longest = std::max(longest, open.lease);
  }
  return longest;
}

/// Not flushed to the disk, because only processes of this boot read it. It is overwritten in place: a longer line than
/// before, or another file, could not be read while it is being written.
std::optional<StoreError> OwnLivenessFile::state(milliseconds lease) {
  if (!putWhole(fd_, statement(lease), idLineSize)) return systemError(place_.store, "writing " + file_, errno);
  stated_ = lease;
  return std::nullopt;
}

StoreResult<LivenessFile> OwnLivenessFile::make() {
  const StoreResult<std::string> directory = place_.directory();
  if (directory.has_error()) return directory.error();
  const std::optional<FileRights> rights = place_.rightsOfNew();
  if (const auto made = makeDirectory(place_.store, *directory, rights); made.has_error()) return made.error();

  SystemRandom random;
  LivenessFile livenessFile{.id = hex128(random), .bootId = bootId()};
  // It gets its name only when it is locked and filled: a liveness file that can be found and is not locked counts as
  // that of a dead process.
  const std::string draft = *directory + '/' + std::string{draftPrefix} + livenessFile.id;
  UniqueFd fd = rights ? fileWithRights(draft, O_RDWR | O_CLOEXEC, *rights)
                       : UniqueFd{openToWrite(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)};
  if (!fd) return systemError(place_.store, "making " + draft, errno);
  fd = asFirstToGo(std::move(fd));
  const std::string line = livenessFile.id + '\n' + statement(milliseconds{0});
  struct stat found {};
  file_ = livenessFilePath(*directory, livenessFile.id);
  const bool done = flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && putWhole(fd, line, 0) && fstat(fd.get(), &found) == 0 &&
                    std::rename(draft.c_str(), file_.c_str()) == 0;
  if (!done) {
    StoreError error = systemError(place_.store, "making " + file_, errno);
    unlink(draft.c_str());
    return error;
  }
  livenessFile.device = found.st_dev;
  livenessFile.inode = found.st_ino;
  fd_ = std::move(fd);
  descriptor_.store(fd_.get());
  livenessFile_ = livenessFile;
  return livenessFile;
}

}  // namespace tenure::liveness
