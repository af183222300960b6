#include "wake_files.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <utility>

#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::sqlite_store {
namespace {

/// How often the watch is tried again while there is no file to watch or a limit is reached. Meanwhile candidates poll.
constexpr std::chrono::seconds retryDelay{1};

void mix(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
}

/// The file, created if it is missing; errno is set if there is no descriptor.
UniqueFd openWakeFile(const std::string& path) noexcept {
  return UniqueFd{open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666)};
}

}  // namespace

std::string fileNameOf(const LeaseKey& key) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  mix(hash, key.name);
  mix(hash, std::string_view{"\0", 1});  // names hold no NUL, so ("ab","c") and ("a","bc") differ
  mix(hash, key.sortKey);
  std::string out(16, '0');
  for (std::size_t i = out.size(); i-- > 0; hash >>= 4U) out[i] = "0123456789abcdef"[hash & 0xFU];
  return out;
}

std::string wakeFilePath(const std::string& directory, const LeaseKey& key) {
  return directory + "/wake-" + fileNameOf(key);
}

void touchWakeFile(const std::string& directory, const LeaseKey& key) noexcept {
  const std::string path = wakeFilePath(directory, key);
  // Watchers are notified when a file that was open for writing is closed. Setting a new file time would also work, but
  // then the file system would have to write one more inode with each commit.
  if (UniqueFd{openToWrite(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)} || errno != ENOENT) return;
  // Nobody watches a file that does not exist; it is created for later watchers.
  if (mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST) static_cast<void>(openWakeFile(path));
}

WakeWatch::WakeWatch(liveness::LivenessFilePlace place, LeaseKey key, std::function<void()> hint)
    : place_{std::move(place)}, key_{std::move(key)}, hint_{std::move(hint)} {}

void WakeWatch::begin(WatchLoop& loop) {
  if (const std::string obstacle = tryToArm(loop); !obstacle.empty()) {
    loop.warnOnce(place_.store + ": changes of lease " + toString(key_) + " are noticed by polling only: " + obstacle);
    loop.wakeAfter(*this, retryDelay);
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
  const StoreResult<std::string> directory = place_.directory();
  if (directory.has_error()) return directory.error().message;
  if (const auto made = makeDirectory(place_.store, *directory); made.has_error()) return made.error().message;
  const std::string path = wakeFilePath(*directory, key_);
  if (const UniqueFd file = openWakeFile(path); !file) return path + ": " + errnoText(errno);
  if (loop.arm(*this, path)) return {};
  return "inotify cannot watch " + path + ": " + errnoText(errno) +
         (errno == ENOSPC ? " (see fs.inotify.max_user_watches)" : "");
}

}  // namespace tenure::sqlite_store
