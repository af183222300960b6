// Waits for the kernel's proof that a holder on this machine is gone.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
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

  /// The kernel sends the close event a moment before it drops the lock, and on a busy machine the dying process may
  /// lose the processor in between. So the lock is tried again, for 0.2 s after an event. A try comes late by at most a
  /// quarter of what the kernel took, or by 25 us. Empty: another event has to come first.
  [[nodiscard]] static constexpr std::optional<std::chrono::nanoseconds> pauseAfter(
      std::chrono::nanoseconds sinceEvent) noexcept {
    if (sinceEvent >= std::chrono::milliseconds{200}) return std::nullopt;
    return std::max<std::chrono::nanoseconds>(std::chrono::microseconds{25}, sinceEvent / 4);
  }

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
  std::chrono::nanoseconds newsAt_{0};  ///< of the boottime clock: the last event, or when the watch began
};

}  // namespace tenure::liveness
