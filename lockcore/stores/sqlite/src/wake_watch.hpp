// Waits for notifications that other processes have committed a change of one lease.
#pragma once

#include <functional>
#include <string>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/runtime/watch_thread.hpp"

namespace tenure::sqlite_store {

/// Hints after each touch of the lease's notification file. A missing file is created, and a removed one is created
/// again. After each (re)arming there is one hint, because what happened before was not seen.
class WakeWatch final : public Watched {
 public:
  WakeWatch(std::string store, std::string path, LeaseKey key, std::function<void()> hint);

  void begin(WatchLoop& loop) override;
  void changed(WatchLoop& loop, bool lost) override;
  void timeOver(WatchLoop& loop) override;

 private:
  /// Empty: armed; else the reason why it is not.
  [[nodiscard]] std::string tryToArm(WatchLoop& loop);

  const std::string store_;
  const std::string path_;  ///< of the database
  const LeaseKey key_;
  const std::function<void()> hint_;
};

}  // namespace tenure::sqlite_store
