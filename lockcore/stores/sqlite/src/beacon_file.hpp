// This process's beacon: a file that is locked for as long as the process lives.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/process_mark.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "unique_fd.hpp"

namespace tenure::sqlite_store {

/// /proc/sys/kernel/random/boot_id; empty if it cannot be read. Cached.
[[nodiscard]] const std::string& bootId();

[[nodiscard]] std::string beaconPath(const std::string& sidecar, std::string_view id);

/// Opens somebody's beacon for looking: never for writing, so that closing it wakes nobody who waits for its end; never
/// through a link, never blocking on a pipe. Empty unless it is a regular file.
[[nodiscard]] UniqueFd openBeaconToLook(const std::string& path) noexcept;

/// The lock that shows that nobody holds a beacon any more. It is a shared one, so several who look at once do not take
/// each other for the holder, and it is let go at once.
enum class LockState { held, free };
[[nodiscard]] LockState probeBeacon(const UniqueFd& beacon) noexcept;

/// A store's one beacon, made when it is first needed. Thread-safe.
class OwnBeacon {
 public:
  OwnBeacon(std::string store, std::string path);
  /// See `retire`; without it the file is taken away.
  ~OwnBeacon();
  OwnBeacon(const OwnBeacon&) = delete;
  OwnBeacon& operator=(const OwnBeacon&) = delete;

  [[nodiscard]] StoreResult<Beacon> get();
  /// -1 before get() gave one.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.load(); }
  /// Empty before get() gave one.
  [[nodiscard]] std::string id() const;

  /// The store goes, with terms that were not given up: their work may still be running, so the lock stays until the
  /// process ends.
  void keepUntilProcessEnds() noexcept;

 private:
  [[nodiscard]] StoreResult<Beacon> make();

  const ProcessMark mark_{};
  const std::string store_;
  const std::string path_;  ///< of the database
  mutable std::mutex mutex_;
  std::optional<Beacon> beacon_;  // guarded by mutex_, as the next three
  std::string file_;
  UniqueFd fd_;
  bool kept_{false};
  std::atomic<int> descriptor_{-1};
};

}  // namespace tenure::sqlite_store
