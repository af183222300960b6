#include "holder_watch.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <sys/stat.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/runtime/system_error.hpp"

namespace tenure::liveness {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Without a watch (limits of inotify) the lock is tried at this interval: a system call each time.
constexpr milliseconds pollDelay{50};

bool isFileOf(const LivenessFile& livenessFile, const struct stat& found) {
  return found.st_dev == livenessFile.device && found.st_ino == livenessFile.inode;
}

}  // namespace

bool HolderWatch::isPossible(const LeaseRecord& record) {
  if (!record.livenessFile || !isLivenessFileId(record.livenessFile->id)) return false;
  return !record.livenessFile->bootId.empty() && record.livenessFile->bootId == bootId();
}

HolderWatch::HolderWatch(LivenessFilePlace place, const LeaseRecord& record, std::function<void(RecordVersion)> proven)
    : place_{std::move(place)},
      livenessFile_{*record.livenessFile},
      version_{record.version},
      proven_{std::move(proven)} {}

void HolderWatch::begin(WatchLoop& loop) {
  if (!openLivenessFile()) {
    fd_ = {};
    return;
  }
  hasWatch_ = loop.arm(*this, file_);
  newsAt_ = readClock().boottime;
  if (!hasWatch_) {
    loop.warnOnce(place_.store + ": inotify cannot watch " + file_ + ": " + errnoText(errno) +
                  " (see fs.inotify.max_user_watches); it is looked at every " + std::to_string(pollDelay.count()) +
                  " ms instead");
  }
  look(loop);
}

void HolderWatch::changed(WatchLoop& loop, bool lost) {
  if (!fd_) return;
  if (lost) {
    begin(loop);  // deleted, moved, or events were dropped: start from the beginning
    return;
  }
  newsAt_ = readClock().boottime;
  look(loop);
}

void HolderWatch::timeOver(WatchLoop& loop) {
  if (fd_) look(loop);
}

void HolderWatch::look(WatchLoop& loop) {
  if (probeLivenessFile(fd_) == LockState::held) {
    const auto pause = hasWatch_ ? pauseAfter(readClock().boottime - newsAt_) : std::optional<nanoseconds>{pollDelay};
    if (pause) loop.wakeAfter(*this, *pause);
    return;
  }
  // A store that ends in an orderly way removes the name of its liveness file before it unlocks the file, because its
  // process may live on.
  const bool proof = namesOurs();
  fd_ = {};
  if (proof) permit.call([this] { proven_(version_); });
}

bool HolderWatch::namesOurs() const {
  struct stat named {};
  return stat(file_.c_str(), &named) == 0 && isFileOf(livenessFile_, named);
}

bool HolderWatch::openLivenessFile() {
  const StoreResult<std::string> directory = place_.directory();
  if (directory.has_error()) return false;
  file_ = livenessFilePath(*directory, livenessFile_.id);
  fd_ = openLivenessFileToLook(file_);
  struct stat found {};
  if (!fd_ || fstat(fd_.get(), &found) != 0 || !isFileOf(livenessFile_, found)) return false;
  std::array<char, 33> text{};  // the id and its line break
  if (pread(fd_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return false;
  return std::string_view{text.data(), text.size()} == livenessFile_.id + '\n';
}

}  // namespace tenure::liveness
