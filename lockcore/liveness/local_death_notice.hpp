// The death notice of a store whose processes keep their liveness files in one directory of this machine.
#pragma once

#include <functional>
#include <memory>

#include <tenure/lockcore/export.hpp>

#include "liveness_file.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/runtime/watch_thread.hpp"

namespace tenure::liveness {

/// Thread-safe. Only livenessFile() blocks, for some file operations at its first call.
class TENURE_API LocalDeathNotice final : public DeathNotice {
 public:
  /// `watches` must outlive it.
  LocalDeathNotice(LivenessFilePlace place, WatchThread& watches);

  [[nodiscard]] StoreResult<LivenessFile> livenessFile() override { return own_.get(); }
  [[nodiscard]] int descriptor() const noexcept override { return own_.descriptor(); }
  [[nodiscard]] std::shared_ptr<void> follow(const LeaseRecord& record,
                                             std::function<void(RecordVersion)> proven) override;

  [[nodiscard]] const LivenessFilePlace& place() const noexcept { return place_; }
  /// For the store, which says which terms are open.
  [[nodiscard]] OwnLivenessFile& own() noexcept { return own_; }
  [[nodiscard]] const OwnLivenessFile& own() const noexcept { return own_; }

 private:
  const LivenessFilePlace place_;
  OwnLivenessFile own_;
  WatchThread& watches_;
};

}  // namespace tenure::liveness
