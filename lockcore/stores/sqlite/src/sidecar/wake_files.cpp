#include "wake_files.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

#include "lockcore/port/fnv1a.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::sqlite_store {
namespace {

/// How often the watch is tried again while there is no file to watch or a limit is reached. Meanwhile candidates poll.
constexpr std::chrono::seconds retryDelay{1};

}  // namespace

std::string wakeFilePath(const std::string& directory, const LeaseKey& key) {
  return directory + "/wake-" + fnv1aOf(key);
}

void touchWakeFile(const std::string& directory, const LeaseKey& key,
                   const std::function<FileRights()>& rights) noexcept {
  const std::string path = wakeFilePath(directory, key);
  // Watchers are notified when a file that was open for writing is closed. Setting a new file time would also work, but
  // then the file system would have to write one more inode with each commit.
  if (UniqueFd{openToWrite(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)} || errno != ENOENT) return;
  // Nobody watches a file that does not exist; it is created for later watchers.
  const FileRights given = rights();
  const int fault = makeDirectoryWith(directory, given);
  if (fault == 0 || fault == EEXIST) static_cast<void>(fileWithRights(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, given));
}

WakeWatch::WakeWatch(liveness::LivenessFilePlace place, LeaseKey key, std::function<void()> hint,
                     std::shared_ptr<const std::atomic<bool>> writes)
    : place_{std::move(place)}, key_{std::move(key)}, hint_{std::move(hint)}, writes_{std::move(writes)} {}

void WakeWatch::begin(WatchLoop& loop) {
  if (const std::string obstacle = tryToArm(loop); !obstacle.empty()) {
    loop.wakeAfter(*this, retryDelay);
    if (!writes_->load() && isMissing_) return;  // nobody has written the lease yet
    loop.warnOnce(place_.store + ": changes of lease " + toString(key_) + " are noticed by polling only: " + obstacle);
    return;
  }
  permit.call(hint_);
}

void WakeWatch::changed(WatchLoop& loop, bool lost) {
  if (lost) {
    begin(loop);
  } else {
    permit.call(hint_);
  }
}

void WakeWatch::timeOver(WatchLoop& loop) { begin(loop); }

std::string WakeWatch::tryToArm(WatchLoop& loop) {
  isMissing_ = false;
  const StoreResult<std::string> directory = place_.directory();
  if (directory.has_error()) return directory.error().message;
  const std::string path = wakeFilePath(*directory, key_);
  if (writes_->load()) {
    const FileRights rights = place_.rights();
    if (const auto made = makeDirectory(place_.store, *directory, rights); made.has_error()) {
      return made.error().message;
    }
    if (!fileWithRights(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, rights)) return path + ": " + errnoText(errno);
  }
  if (loop.arm(*this, path)) return {};
  isMissing_ = errno == ENOENT;
  return "inotify cannot watch " + path + ": " + errnoText(errno) +
         (errno == ENOSPC ? " (see fs.inotify.max_user_watches)" : "");
}

}  // namespace tenure::sqlite_store
