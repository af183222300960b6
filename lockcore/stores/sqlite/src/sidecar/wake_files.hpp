// Notification files ("wake files" in the code). There is one for each lease, and whoever has committed a change of the
// lease touches it, so that others need not wait for their next poll.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/runtime/file_rights.hpp"
#include "lockcore/runtime/watch_thread.hpp"

namespace tenure::sqlite_store {

/// Two leases may have the same file; then a change of one is a needless hint for the other.
[[nodiscard]] std::string wakeFilePath(const std::string& directory, const LeaseKey& key);

/// Notifies those that watch the lease that something was committed. Never fails: a process that misses it polls.
/// `rights` is asked if directory or file must be made.
void touchWakeFile(const std::string& directory, const LeaseKey& key,
                   const std::function<FileRights()>& rights) noexcept;

/// Hints after each touch of the lease's notification file. A missing file is created, and a removed one is created
/// again, unless the store only looks. After each (re)arming there is one hint, because what happened before was not
/// seen.
class WakeWatch final : public Watched {
 public:
  /// `writes`: whether the store was asked for anything that writes.
  WakeWatch(liveness::LivenessFilePlace place, LeaseKey key, std::function<void()> hint,
            std::shared_ptr<const std::atomic<bool>> writes);

  void begin(WatchLoop& loop) override;
  void changed(WatchLoop& loop, bool lost) override;
  void timeOver(WatchLoop& loop) override;

 private:
  /// Empty: armed; else the reason why it is not.
  [[nodiscard]] std::string tryToArm(WatchLoop& loop);

  const liveness::LivenessFilePlace place_;
  const LeaseKey key_;
  const std::function<void()> hint_;
  const std::shared_ptr<const std::atomic<bool>> writes_;
  bool isMissing_{false};  ///< the file, at the last try
};

}  // namespace tenure::sqlite_store
