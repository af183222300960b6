// What a store's stream has told of the release of one lease, and when that may stand for a read.
#pragma once

#include <chrono>
#include <set>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/register.hpp>

namespace tenure::stored {

[[nodiscard]] TENURE_API bool isHeld(const StoredLease& lease);
[[nodiscard]] TENURE_API bool isSameTerm(const StoredLease& a, const StoredLease& b);

/// A stream may be late, repeat itself or be wrong, so it proves nothing. It only saves the read before an acquisition:
/// the rule of a read decides on what was told, and the swap requires all of it. Nothing else is ever taken from a
/// stream in this way: no deletion, no held record.
class TENURE_API ReleaseHint {
 public:
  /// The longest pause, in leases.
  static constexpr int longestPause = 8;

  /// From now on each change of the lease is told. What was told before counts no longer.
  void begin(const Instant& now);
  /// The last change that was told; null: it is anything but a release.
  void tell(LoadedLease release) noexcept { release_ = std::move(release); }

  /// A candidate of this process writes as that holder. What it reads of its own term is asked of the store: it may be
  /// in doubt, and would give up a lease that it holds. Each renewal says so again, and thus before a lease was
  /// watched.
  void wrote(const std::string& holder);

  /// Instead of a read, once. `loaded`: what this process has seen last. Null: the store is to be asked, unless the
  /// stream tells the release of the very term that was seen, in the same history, by a later write, and was followed
  /// for a whole lease; and the holder is another process.
  [[nodiscard]] LoadedLease take(const Instant& now, const StoredLease& loaded);
  /// Whether what was taken last never was: the store shows that the term goes on. Then it is asked again for a lease,
  /// and each time for twice as long: lies cost reads, and not writes, and they do not make a candidate wait anew for
  /// ever.
  [[nodiscard]] bool isRefuted(const Instant& now, const StoredLease& found);

 private:
  [[nodiscard]] std::chrono::nanoseconds pause() const noexcept { return lease_ * pause_; }

  Instant since_{};
  Instant refutedAt_{};
  int pause_{0};  ///< from then on, in leases
  std::chrono::milliseconds lease_{0};
  LoadedLease release_{};
  LoadedLease taken_{};
  std::set<std::string> writers_{};
};

}  // namespace tenure::stored
