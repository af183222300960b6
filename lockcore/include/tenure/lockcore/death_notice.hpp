// Death notice: proof by the kernel that a holder on this machine can act no more.
#pragma once

#include <functional>
#include <memory>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// A process keeps an exclusive flock(2) on a beacon file; the kernel drops it when the last process that inherited
/// the descriptor is gone. Whoever gets that lock on the very file of the record (same boot, device, inode, and the
/// beacon's id inside) has proof that the holder is gone, and may take over without waiting for the lease to end,
/// conditioned on the RVN as ever. A missing, foreign, copied or replaced beacon proves nothing, and neither does
/// the end of a connection: then the lease decides.
class DeathNotice {
 public:
  virtual ~DeathNotice() = default;

  /// This process's beacon, locked, to be written into its records. Created at the first call. Blocks for a few
  /// file operations; call it before competing, not on the renewal thread.
  [[nodiscard]] virtual StoreResult<Beacon> beacon() = 0;

  /// The descriptor of the beacon, for children that act for a term: a child that inherits it (clear FD_CLOEXEC
  /// between fork and exec) counts as the holder being alive. -1 before beacon().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// Watches the beacon of `record` and calls `proven` with the record's RVN at most once, when (or if already) its
  /// holder is proven gone. Ends with the returned handle. Null if the record's beacon can prove nothing here.
  /// Returns at once; `proven` comes from any thread, never inside this call, and is not running any more when the
  /// handle's destruction returns.
  [[nodiscard]] virtual std::shared_ptr<void> follow(const LeaseRecord& record,
                                                     std::function<void(RecordVersion)> proven) = 0;
};

}  // namespace tenure
