// Waits for the kernel's proof that a holder on this machine is gone.
#pragma once

#include <functional>
#include <string>

#include <tenure/lockcore/lease_record.hpp>

#include "liveness_file.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "lockcore/runtime/watch_thread.hpp"

namespace tenure::liveness {

/// Follows one liveness file. Proof is the lock on the very file of the record (device, inode, id inside, and still
/// under its name when the lock is obtained). Everything else proves nothing, and then the lease decides.
class HolderWatch final : public Watched {
 public:
  /// Whether the record names a liveness file of this boot. Others can prove nothing here.
  [[nodiscard]] static bool isPossible(const LeaseRecord& record);

  /// isPossible(record). `proven` is called at most once.
  HolderWatch(LivenessFilePlace place, const LeaseRecord& record, std::function<void(RecordVersion)> proven);

  void begin(WatchLoop& loop) override;
  void changed(WatchLoop& loop, bool lost) override;
  void timeOver(WatchLoop& loop) override;

 private:
  [[nodiscard]] bool openLivenessFile();
  [[nodiscard]] bool namesOurs() const;
  void look(WatchLoop& loop);

  const LivenessFilePlace place_;
  const LivenessFile livenessFile_;
  const RecordVersion version_;
  const std::function<void(RecordVersion)> proven_;
  std::string file_;
  UniqueFd fd_;  ///< none: nothing more can be proven
  bool hasWatch_{false};
  int retries_{0};
};

}  // namespace tenure::liveness
