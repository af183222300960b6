#include "wake_watch.hpp"

#include <cerrno>
#include <chrono>
#include <utility>

#include "filesystem_checks.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

/// How often the watch is tried again while there is no file to watch or a limit is reached. Meanwhile candidates poll.
constexpr std::chrono::seconds retryDelay{1};

}  // namespace

WakeWatch::WakeWatch(std::string store, std::string path, LeaseKey key, std::function<void()> hint)
    : store_{std::move(store)}, path_{std::move(path)}, key_{std::move(key)}, hint_{std::move(hint)} {}

void WakeWatch::begin(WatchLoop& loop) {
  if (const std::string obstacle = tryToArm(loop); !obstacle.empty()) {
    loop.warnOnce(store_ + ": changes of lease " + toString(key_) + " are noticed by polling only: " + obstacle);
    loop.wakeAfter(*this, retryDelay);
    return;
  }
  gate.call(hint_);
}

void WakeWatch::changed(WatchLoop& loop, bool lost) {
  if (lost) {
    begin(loop);
  } else {
    gate.call(hint_);
  }
}

void WakeWatch::timeOver(WatchLoop& loop) { begin(loop); }

std::string WakeWatch::tryToArm(WatchLoop& loop) {
  const StoreResult<CheckedFiles> checked = checkFiles(store_, path_);
  if (checked.has_error()) return checked.error().message;
  const std::string& sidecar = checked->files.sidecar;
  if (const auto made = makeDirectory(store_, sidecar); made.has_error()) return made.error().message;
  const std::string path = wakeFilePath(sidecar, key_);
  if (const UniqueFd file = openWakeFile(path); !file) return path + ": " + errnoText(errno);
  if (loop.arm(*this, path)) return {};
  return "inotify cannot watch " + path + ": " + errnoText(errno) +
         (errno == ENOSPC ? " (see fs.inotify.max_user_watches)" : "");
}

}  // namespace tenure::sqlite_store
